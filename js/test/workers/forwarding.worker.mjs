// Hands the request it gets on, as Workers do: the incoming request, or one made of it, as init.

import { forbear } from "forbear";

const GUARDS = [forbear({ breaker: {} }), forbear({ timeout: {}, retry: {} })];

export default {
  async fetch(request, { UPSTREAM }) {
    const answers = [];
    for (const guard of GUARDS) {
      const one = request.clone();
      for (const init of [one, new Request("http://a.example/", request.clone())]) {
        answers.push(await (await guard.fetch(UPSTREAM, init)).json());
      }
      answers.push(await (await guard.fetch(UPSTREAM, request.clone(), { getBody: request.method === "POST" ? () => "fresh" : undefined })).json());
    }
    return Response.json(answers);
  },
};
