// Performs the orders it gets, in a page.

import { forbear, reportOf } from "forbear";
import { performer } from "../support/perform.mjs";

globalThis.perform = performer({ forbear, reportOf });
