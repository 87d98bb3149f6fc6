// Performs the orders it gets.

import { forbear, reportOf } from "forbear";
import { performer } from "../support/perform.mjs";

const perform = performer({ forbear, reportOf });

export default {
  async fetch(request) {
    return Response.json(await perform(await request.json()));
  },
};
