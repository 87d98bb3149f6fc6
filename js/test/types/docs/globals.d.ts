/** What a block of the docs takes as made in one before. */
declare const guard: import("forbear").Guard;
