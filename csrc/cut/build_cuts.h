/* Fills the tables behind the exact cuts (cuts.h) with the tokens of a vocabulary. */
#ifndef ST_CUT_BUILD_CUTS_H
#define ST_CUT_BUILD_CUTS_H

#include "cut/cut_rule.h"
#include "vocab/vocab.h"

/* The tables must be zero before the call. */
void st_fill_cuts(st_cut_tables *cuts, const st_vocab *vocab);

#endif
