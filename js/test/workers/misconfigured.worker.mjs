// What cannot be is said where it is written, and not to some later request.

import { forbear } from "forbear";

const guard = forbear({ retry: { attempts: 99 } });

export default { fetch: guard.fetch };
