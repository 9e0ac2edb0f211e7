/* streamtok.h - the exact, streaming tokenizer as a C library. One header, no other is needed.
 *
 *     stk_model *model; stk_coder *coder;
 *     stk_model_open("model.stm", &model);                      streamtok compile tokenizer.json -o model.stm
 *     stk_coder_new(model, NULL, &coder);
 *     stk_encode(coder, text, n, ids, capacity, &count, NULL);
 *
 * Objects are opaque. A function that can fail returns a status; what it was to make is NULL then, and all else is as it was before the
 * call. Texts are UTF-8 with a size, and need no zero at their end. Ids, offsets and decoded texts are those that the Python package
 * gives for the same model, token for token, wherever a text is cut.
 *
 * Buffers. Where a function fills a buffer, `capacity` is what it has room for, in ids or bytes, and *count or *size is what there is.
 * One that keeps nothing (stk_encode, stk_decode) writes as much as there is room for, and returns STK_MORE with the whole number if that
 * is more: call it again with as much room. A stream and a decoder keep the rest, return STK_MORE with what was written, and go on with
 * stk_stream_take and stk_decoder_take: no text is encoded twice.
 *
 * Threads. "Shared": any number of threads may call it with one object at the same time. "One": one thread at a time for an object;
 * different objects are independent. A *_free, and the last one of an object that others keep, is "one".
 *
 * Ownership. What is made is given back with the function of its name that ends in _free, which takes NULL, too. A coder keeps its
 * model, and a stream, a decoder or a session its coder or model: each may be freed in any order. Pointers that functions return belong to
 * the object, as long as it is not changed.
 *
 * The library keeps nothing between calls but what lies in these objects, and the functions of stk_set_memory. It prints nothing, ends no
 * process, handles no signal. */
#ifndef STREAMTOK_H
#define STREAMTOK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(STK_BUILD)
#define STK_API __declspec(dllexport)
#elif defined(__GNUC__) && defined(STK_BUILD)
#define STK_API __attribute__((visibility("default")))
#else
#define STK_API
#endif

/* The version of this interface. It grows when a function changes or goes; what is added leaves it as it is. */
#define STK_ABI_VERSION 1

/* STK_ABI_VERSION of the library that runs. Shared. */
STK_API uint32_t stk_abi_version(void);
/* The version of streamtok, "1.2.3". Shared. */
STK_API const char *stk_version(void);

typedef enum stk_status {
    STK_OK = 0,
    STK_MORE = 1,            /* the buffer has too little room */
    STK_NO_MEMORY = 2,       /* an allocation failed */
    STK_BAD_ARGUMENT = 3,    /* NULL where something has to be, an unknown flag, names that contradict each other */
    STK_NO_FILE = 4,         /* the file cannot be read; errno says why */
    STK_NOT_A_MODEL = 5,     /* it is no compiled model */
    STK_OTHER_VERSION = 6,   /* another version compiled it: compile it anew */
    STK_OTHER_MACHINE = 7,   /* it was compiled for machines of another byte order */
    STK_DAMAGED = 8,         /* a compiled model that is damaged or forged */
    STK_NOT_UTF8 = 9,        /* the text is not UTF-8; the fault says where */
    STK_SPECIAL_REFUSED = 10, /* the text names a special token that is refused; the fault says where and which */
    STK_UNKNOWN_ID = 11,     /* no token has this id; the fault says which one */
    STK_UNKNOWN_NAME = 12,   /* the model has no special token of this name */
    STK_NO_TOKEN = 13,       /* the text holds what is no token of this vocabulary */
    STK_UNSUPPORTED = 14     /* the model cannot do that; the function says when */
} stk_status;

/* One English phrase for a status. Shared. */
STK_API const char *stk_message(stk_status status);

/* What is wrong, for those who ask. Set `size` to sizeof(stk_fault) first. Fields that say nothing of a failure are 0. */
typedef struct stk_fault {
    size_t size;
    uint64_t offset; /* byte of the text, or of all that a stream was fed, at which it begins */
    uint64_t index;  /* of the id; of the name, as stk_model_special numbers them; */
    uint64_t row;    /* of the text of a batch, of the segment */
} stk_fault;

typedef struct stk_text {
    const char *data;
    size_t size;
} stk_text;

/* ---- memory ---- */

/* Functions that the library takes all its memory from. resize is as realloc, release is called with what the others gave. */
typedef struct stk_memory {
    void *(*allocate)(size_t size, void *context);
    void *(*resize)(void *block, size_t size, void *context);
    void (*release)(void *block, void *context);
    void *context;
} stk_memory;

/* Takes memory from these functions from now on; NULL: from the C library's again. They must be safe to call from any thread.
 * STK_BAD_ARGUMENT: a function is missing, or the library holds memory: free all objects first. One, for the process. */
STK_API stk_status stk_set_memory(const stk_memory *memory);
/* Blocks of memory that the library holds: 0 when all objects are freed. Shared. */
STK_API int64_t stk_live_blocks(void);

/* ---- models ---- */

typedef struct stk_model stk_model;

/* Opens a compiled model, which may come from anybody: a checksum is compared, and every array is looked at. STK_NO_FILE,
 * STK_NOT_A_MODEL, STK_OTHER_VERSION, STK_OTHER_MACHINE, STK_DAMAGED. Shared. */
STK_API stk_status stk_model_open(const char *path, stk_model **model);
/* The same from memory, which is copied. Shared. */
STK_API stk_status stk_model_open_memory(const void *data, size_t size, stk_model **model);
STK_API void stk_model_free(stk_model *model);

/* The name that it was compiled with. Shared. */
STK_API stk_text stk_model_name(const stk_model *model);
/* One more than the largest id. Shared. */
STK_API uint32_t stk_model_vocab_size(const stk_model *model);
/* How many special and other added tokens there are. Shared. */
STK_API size_t stk_model_special_count(const stk_model *model);
/* The name and id of number i. is_special: 0 for an added token that is found in every text. STK_BAD_ARGUMENT: there are fewer. Shared. */
STK_API stk_status stk_model_special(const stk_model *model, size_t i, stk_text *name, uint32_t *id, int *is_special);
/* The bytes that an id stands for, as the vocabulary or the name has them. STK_UNKNOWN_ID. Shared. */
STK_API stk_status stk_model_token(const stk_model *model, uint32_t id, stk_text *bytes);
/* The id of the token with these bytes, or of the added token with this name. STK_UNKNOWN_NAME: there is none. Shared. */
STK_API stk_status stk_model_find(const stk_model *model, const char *bytes, size_t size, uint32_t *id);
/* The ids that STK_ADD_TEMPLATE puts in front of a text, and behind it. Shared. */
STK_API void stk_model_template(const stk_model *model, const uint32_t **prefix, size_t *prefix_count, const uint32_t **suffix,
                                size_t *suffix_count);

/* ---- how a text is encoded ---- */

typedef struct stk_coder stk_coder;

/* What becomes of the names of special tokens in a text that are not in `allowed`. */
enum { STK_REFUSE_SPECIAL = 0, STK_SPECIAL_IS_TEXT = 1, STK_ALLOW_SPECIAL = 2 };
/* What becomes of bytes that are not UTF-8: an error, U+FFFD as Python's decoder puts it, nothing. */
enum { STK_STRICT = 0, STK_REPLACE = 1, STK_IGNORE = 2 };
/* Flags. */
enum { STK_ADD_TEMPLATE = 1 /* the model's ids in front of each text and behind it */ };

/* Set `size` to sizeof(stk_options), and what is not wanted to 0. */
typedef struct stk_options {
    size_t size;
    uint32_t special, errors, flags;
    const stk_text *allowed; /* names of special tokens that become their ids */
    size_t allowed_count;
    const stk_text *refused; /* names that are refused with STK_SPECIAL_IS_TEXT */
    size_t refused_count;
} stk_options;

/* options NULL: special tokens are refused, bytes that are not UTF-8, too. STK_UNKNOWN_NAME, STK_BAD_ARGUMENT. Shared. */
STK_API stk_status stk_coder_new(stk_model *model, const stk_options *options, stk_coder **coder);
STK_API void stk_coder_free(stk_coder *coder);

/* ---- whole texts ---- */

/* The ids of a text. STK_MORE: the first `capacity` ids are written, and *count is the number of all. STK_NOT_UTF8,
 * STK_SPECIAL_REFUSED, STK_NO_TOKEN. fault may be NULL. Shared. */
STK_API stk_status stk_encode(stk_coder *coder, const char *text, size_t size, uint32_t *ids, size_t capacity, size_t *count,
                              stk_fault *fault);
/* How many ids that would be, in memory that does not grow with the text. Shared. */
STK_API stk_status stk_count(stk_coder *coder, const char *text, size_t size, size_t *count, stk_fault *fault);
/* The ids, and of each the byte of the text at which the character begins that holds its first byte; where the text is normalized,
 * that of the character that it came from. The text must be UTF-8, whatever the options say. Shared. */
STK_API stk_status stk_encode_offsets(stk_coder *coder, const char *text, size_t size, uint32_t *ids, uint64_t *offsets,
                                      size_t capacity, size_t *count, stk_fault *fault);

/* A part of a text, and whether the special tokens that the coder allows may be named in it: a template beside what a user wrote, say. */
typedef struct stk_segment {
    const char *data;
    size_t size;
    int special;
} stk_segment;

/* The ids of all segments as one text. A name counts where each segment that holds bytes of it allows it; nothing is refused.
 * starts: NULL, or room for segment_count + 1 numbers: segment i has ids[starts[i]..starts[i + 1]), an id counts for the segment in which
 * it begins; all are UINT64_MAX where that is not known, as behind a normalizer. STK_UNSUPPORTED: names take text beside them, or texts
 * begin in their own way, and segments differ. Shared. */
STK_API stk_status stk_encode_segments(stk_coder *coder, const stk_segment *segments, size_t segment_count, uint32_t *ids,
                                       size_t capacity, size_t *count, uint64_t *starts, stk_fault *fault);

/* ---- many texts ---- */

typedef struct stk_pool stk_pool;
typedef struct stk_batch stk_batch;

/* Threads that wait for batches, `threads` with the one that calls; 0: one for each processor. Where the system has no POSIX threads
 * there is the calling one alone. Shared. */
STK_API stk_status stk_pool_new(size_t threads, stk_pool **pool);
STK_API void stk_pool_free(stk_pool *pool);

/* Encodes texts on the threads of a pool, long ones on several; pool NULL: on this one. Batches of one pool wait for each other. An
 * error is that of the first text that has one; fault->row says which. Shared. */
STK_API stk_status stk_encode_batch(stk_coder *coder, stk_pool *pool, const stk_text *texts, size_t count, stk_batch **batch,
                                    stk_fault *fault);
/* The ids of all texts, one behind the other. Shared. */
STK_API const uint32_t *stk_batch_ids(const stk_batch *batch, size_t *count);
/* Text i has ids[starts[i]..starts[i + 1]). Shared. */
STK_API const uint64_t *stk_batch_starts(const stk_batch *batch, size_t *texts);
STK_API void stk_batch_free(stk_batch *batch);

/* ---- texts that come in parts ---- */

typedef struct stk_stream stk_stream;

STK_API stk_status stk_stream_new(stk_coder *coder, stk_stream **stream);
STK_API void stk_stream_free(stk_stream *stream);
/* Takes a part of a text, cut anywhere, and gives the ids that no later part can change, those first that are still to be taken.
 * After an error other than STK_MORE the stream is as it was before the call. One. */
STK_API stk_status stk_stream_feed(stk_stream *stream, const char *text, size_t size, uint32_t *ids, size_t capacity, size_t *count,
                                   stk_fault *fault);
/* The text ends: the rest of its ids. The stream is then ready for the next one. One. */
STK_API stk_status stk_stream_flush(stk_stream *stream, uint32_t *ids, size_t capacity, size_t *count, stk_fault *fault);
/* More of the ids that there was no room for. STK_MORE as long as there are some behind these. One. */
STK_API stk_status stk_stream_take(stk_stream *stream, uint32_t *ids, size_t capacity, size_t *count);
/* Bytes fed whose ids have not come. One. */
STK_API uint64_t stk_stream_pending(const stk_stream *stream);
/* Forgets the text. One. */
STK_API void stk_stream_reset(stk_stream *stream);
/* A second stream in the same state. One. */
STK_API stk_status stk_stream_copy(const stk_stream *stream, stk_stream **copy);

/* ---- texts that grow, and go back ---- */

typedef struct stk_session stk_session;

/* A text and all of its ids, which are those of stk_encode after each call. */
STK_API stk_status stk_session_new(stk_coder *coder, stk_session **session);
STK_API void stk_session_free(stk_session *session);
/* Adds text. *keep: so many ids in front stay as they were. What it costs does not grow with the text in front. One. */
STK_API stk_status stk_session_append(stk_session *session, const char *text, size_t size, size_t *keep, stk_fault *fault);
/* All ids, until the next change. One. */
STK_API const uint32_t *stk_session_ids(const stk_session *session, size_t *count);
/* Bytes of the text. One. */
STK_API uint64_t stk_session_size(const stk_session *session);
/* Keeps this state: *mark is its number, from 0 on. One. */
STK_API stk_status stk_session_mark(stk_session *session, size_t *mark);
/* Goes back to a mark, and drops those behind it. STK_BAD_ARGUMENT: there is no such mark. One. */
STK_API stk_status stk_session_rollback(stk_session *session, size_t mark);

/* ---- ids to text ---- */

/* Flags. Without STK_RAW_BYTES a text is UTF-8, with U+FFFD in the place of bytes that are none. */
enum { STK_SKIP_SPECIAL = 1, STK_RAW_BYTES = 2 };

/* The text of ids. STK_MORE: the first `capacity` bytes are written, and *size is the number of all. STK_UNKNOWN_ID. Shared. */
STK_API stk_status stk_decode(stk_model *model, const uint32_t *ids, size_t count, uint32_t flags, char *text, size_t capacity,
                              size_t *size, stk_fault *fault);

typedef struct stk_decoder stk_decoder;

/* A text that is decoded as its ids come, in whole characters, up to the first stop string; it is not part of the text. flags:
 * STK_SKIP_SPECIAL or 0. STK_BAD_ARGUMENT: a stop string is empty, or not UTF-8, or there are more than 256. */
STK_API stk_status stk_decoder_new(stk_model *model, uint32_t flags, const stk_text *stops, size_t stop_count, stk_decoder **decoder);
STK_API void stk_decoder_free(stk_decoder *decoder);
/* The text that ids complete. After an error other than STK_MORE the decoder is as it was. One. */
STK_API stk_status stk_decoder_feed(stk_decoder *decoder, const uint32_t *ids, size_t count, char *text, size_t capacity,
                                    size_t *size, stk_fault *fault);
/* The text ends: what is left of it. The decoder is then ready for the next one. One. */
STK_API stk_status stk_decoder_flush(stk_decoder *decoder, char *text, size_t capacity, size_t *size);
/* More of the text that there was no room for. One. */
STK_API stk_status stk_decoder_take(stk_decoder *decoder, char *text, size_t capacity, size_t *size);
/* The number of the stop string that ended the text, until it is flushed or reset; -1: none has. One. */
STK_API int32_t stk_decoder_stopped(const stk_decoder *decoder);
STK_API void stk_decoder_reset(stk_decoder *decoder);
STK_API stk_status stk_decoder_copy(const stk_decoder *decoder, stk_decoder **copy);

#ifdef __cplusplus
}
#endif

#endif
