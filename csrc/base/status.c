#include "base/status.h"

const char *st_strerror(st_status status)
{
    switch (status) {
    case ST_OK: return "no error";
    case ST_NO_MEMORY: return "out of memory";
    case ST_INVALID_UTF8: return "the bytes are not valid UTF-8";
    case ST_DISALLOWED_SPECIAL: return "text of a disallowed special token";
    case ST_UNKNOWN_TOKEN: return "unknown token id";
    case ST_BAD_STATE: return "the saved state is damaged";
    case ST_TOO_MANY_TOKENS: return "the vocabulary has more tokens than 2**21";
    case ST_MISSING_BYTE: return "a single byte is not in the vocabulary";
    case ST_DUPLICATE_TOKEN: return "two tokens have the same bytes";
    case ST_EMPTY_TOKEN: return "a token is empty";
    case ST_TOKEN_TOO_LONG: return "a token has more than 65,535 bytes, or all tokens together more than 128 MiB";
    case ST_UNSORTED_RANKS: return "two tokens have the same rank";
    case ST_BAD_SPLIT: return "the stored split of a token names no two tokens";
    case ST_BAD_IMAGE: return "the tables are damaged, or were made by another version or for another kind of machine";
    case ST_TOO_MUCH_TEXT: return "the distinct pieces of the text have more than 4 GiB together";
    case ST_BAD_TABLE: return "the table of a pattern is damaged";
    case ST_BAD_WORDS: return "the words and their lengths contradict each other";
    case ST_BAD_LIST: return "a list of a model file is malformed";
    case ST_INTERRUPTED: return "the call was interrupted";
    }
    return "unknown status";
}
