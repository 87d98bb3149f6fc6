// Whose error it is where redirects are followed. fetch does not tell at which server it failed; most errors do, by the name,
// the address or the port that was tried.

import { unconnected, type Server } from "../host/connections.js";
import { urlOf } from "./facts.js";
import { chainOf, type RuntimeError } from "./outcome.js";

/** Whether an error is about the server of this URL; undefined where it does not tell. */
export function isAbout(url: string, error: unknown): boolean | undefined {
  const called = placeIn(urlOf(url));
  const tried = chainOf(error).flatMap((link) => (Array.isArray(link.errors) ? link.errors.flatMap(chainOf) : link));
  const told = tried.map((link) => isAt(called, placeOf(link)));
  return told.includes(false) ? false : told.includes(true) ? true : undefined;
}

/** A server: its name or its address, and its port. */
interface Place {
  readonly host: string;
  readonly port: number;
}

function placeIn({ hostname, port, protocol }: Server): Place {
  return { host: bare(hostname), port: Number(port || (protocol === "https:" ? 443 : 80)) };
}

/** What an error tells of a server. */
function placeOf(link: RuntimeError): Partial<Place> {
  const server = unconnected(link);
  if (server !== undefined) return placeIn(server);
  const { hostname, host, address, port, socket, message } = link as Record<string, unknown>;
  const { remoteAddress, remotePort } = (socket ?? {}) as Record<string, unknown>;
  const [, url, triedHost, triedPort] = TRIED.exec(String(message)) ?? [];
  if (url !== undefined) return placeIn(new URL(url));
  const name = [hostname, host, address, remoteAddress, triedHost].find((each) => typeof each === "string") as string | undefined;
  const number = [port, remotePort, triedPort].map(Number).find((each) => each > 0);
  return { ...(name !== undefined && { host: bare(name) }), ...(number !== undefined && { port: number }) };
}

function isAt(called: Place, { host, port }: Partial<Place>): boolean | undefined {
  if (port !== undefined && port !== called.port) return false;
  if (host === undefined) return undefined;
  if (host === called.host) return true;
  if (called.host === "localhost") return LOOPBACK.test(host);
  return ADDRESS.test(host) && !ADDRESS.test(called.host) ? undefined : false; // it may be the address of that name
}

/** In lower case, and without the brackets that an address has in a URL. */
function bare(host: string): string {
  return host.replace(/^\[|\]$/g, "").toLowerCase();
}

/** Words that tell where there is nothing else: Deno's the URL, undici's the name and the port. */
const TRIED = /error sending request .*?for (?:url \()?(https?:[^\s)]+)|attempted address: \[?([^\s,]+?)\]?:(\d+)/;
const ADDRESS = /^[\d.]+$|:/;
const LOOPBACK = /^127\.|^::1$/;
