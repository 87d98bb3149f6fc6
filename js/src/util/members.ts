// Members of what users give: own ones and those of the prototypes, as classes have them. What stands on `Object.prototype` is
// never read: there it may be anybody's.

/** The value of a member; undefined where there is none. */
export function memberOf(given: object, name: string): unknown {
  for (let owner: object | null = given; owner !== null && !isRoot(owner); owner = prototypeOf(owner)) {
    if (Object.hasOwn(owner, name)) return (given as Members)[name];
  }
  return undefined;
}

/** The same for functions that are called without their owner: a method of a class is bound to it. */
export function functionOf(given: object, name: string): unknown {
  const value = memberOf(given, name);
  return typeof value === "function" && !Object.hasOwn(given, name) ? value.bind(given) : value;
}

/** The names of all members that are known, that can be seen, or that a class computes. Its methods and constructor are none. */
export function namesOf(given: object, isKnown: (name: string) => boolean): Set<string> {
  const names = new Set(Object.getOwnPropertyNames(given).filter((name) => isKnown(name) || propertyIsEnumerable.call(given, name)));
  for (let owner = prototypeOf(given); owner !== null && !isRoot(owner); owner = prototypeOf(owner)) {
    for (const [name, { enumerable, get }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (isKnown(name) || enumerable || get !== undefined) names.add(name);
    }
  }
  return names;
}

function prototypeOf(owner: object): object | null {
  return Object.getPrototypeOf(owner) as object | null;
}

/** An `Object.prototype`, of this realm or another one. */
function isRoot(owner: object): boolean {
  return owner === Object.prototype || (Object.hasOwn(owner, "hasOwnProperty") && prototypeOf(owner) === null);
}

const { propertyIsEnumerable } = Object.prototype;

type Members = Record<string, unknown>;
