/* Merging side by side, on whatever the compiler targets by itself. */
#include "merge_words.h"

#define find_in_bucket st_bucket_find
#define ST_TIER portable
#include "merge_words_template.h"
