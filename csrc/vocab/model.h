/* model.h - what a model is: the rule by which a piece becomes ids, as a table of facts and functions.
 *
 * Streams, threads, saved states, tables of frequent words and images ask the table of their vocabulary (vocab/vocab.h), and never
 * which model it is. The models are in models/; only that room knows all of them. A new one is a file there and a row of
 * models/models.c, or comes from outside (native/model.pyx).
 *
 * The ids of a piece depend on the piece alone, and a piece of one byte that is a token becomes this token. */
#ifndef ST_VOCAB_MODEL_H
#define ST_VOCAB_MODEL_H

#include "base/buffer.h"

struct st_open;
struct st_vocab;

enum st_model_facts {
    ST_MODEL_MERGES = 1,      /* tokens come of merges: the vocabulary has a table of pairs */
    ST_MODEL_HAS_BYTES = 2,   /* each byte has to be a token */
    ST_MODEL_HAS_CUTS = 4,    /* a border that lies inside no token divides a piece (cut/cuts.h) */
    ST_MODEL_JOINS = 8,       /* a token depends on nothing in front of it, so a text can be encoded from any place (threads/job_seam.c) */
    ST_MODEL_KEEPS_BYTES = 16, /* the tokens of a piece have its bytes */
    ST_MODEL_KEEPS_TOKENS = 32 /* a piece that is a token becomes this token, unless it is silent */
};

/* The longest of those below: its bytes and a stand-in at either end have a bit of 64 each. */
#define ST_WORD_BYTES 60

/* A word of whole characters, 1 <= n <= ST_WORD_BYTES. tokens: room for n; receives indices. */
typedef struct st_word {
    const uint8_t *text;
    uint32_t *tokens;
    uint32_t n, count;
} st_word;

/* Bytes of a model's name, the zero behind it included. */
#define ST_MODEL_NAME 16

/* For a model of which something is carried over a border where a piece can be cut, as sums are: parts of a piece are encoded by several
 * threads, each as if nothing was carried there, and are mended one after the other. Parts begin in front of a mark, U+2581, behind
 * another character. */
typedef struct st_model_seams {
    int (*are_there)(struct st_vocab *vocab);
    /* What is noted of the next piece of this thread, which is longer than the model holds; NULL: memory is short. With 0, none is. */
    void *(*note)(void *scratch, int begins);
    /* Makes the ids of that piece, from number `first` on to the end, those behind what is carried; and sets that to what it carries on. */
    st_status (*mend)(struct st_vocab *vocab, void *scratch, void *noted, double *carried, st_ids *ids, size_t first);
    void (*forget)(void *noted);
} st_model_seams;

/* `scratch` of the functions is memory of one thread that was zero at first: of `scratch` bytes, and not for others to read. What they
 * append to `out` are ids, the fragments of characters among them (vocab/fragment_ids.h). NULL stands for what is said. */
typedef struct st_model {
    const char *name;
    unsigned facts;
    size_t holds; /* an open piece of up to this many bytes waits for its end; a longer one is pushed */
    size_t scratch;
    const struct st_model *of_fragments; /* the model of such a vocabulary where fragments can come up in a text; NULL: this one */

    int (*accepts)(const struct st_vocab *vocab); /* what the vocabulary has of its own is sound; NULL: it has nothing */
    void (*release)(void *scratch);               /* frees what the functions left there; NULL: nothing */

    /* The tokens of several short words. ST_NO_MEMORY: of none. */
    st_status (*words)(struct st_vocab *vocab, void *scratch, st_word *words, size_t count);
    /* Appends the ids of a piece, or of a part of one between two cuts, by the rule alone. */
    st_status (*whole)(struct st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out);
    /* The same by the definition: no table, no cut. For tests. */
    st_status (*reference)(const struct st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out);

    /* For a model without ST_MODEL_KEEPS_TOKENS: whether a piece that is token number i becomes it, 1 or 0, in kept[i]; -1: `whole` has to
     * tell. NULL: it always has to. */
    st_status (*keeps)(struct st_vocab *vocab, int8_t *kept);

    /* An open piece (vocab/open.h): n more bytes of it, which may begin inside a character. Appends the ids that no later text can
     * change. NULL: everything waits for the end. ST_NO_MEMORY: the piece is unusable until begun again. */
    st_status (*push)(struct st_open *open, struct st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out);
    /* Appends the remaining ids at its end. NULL: `whole` of what is pending. ST_BAD_STATE if it was restored from a state that no
     * encoder can have saved. */
    st_status (*finish)(struct st_open *open, struct st_vocab *vocab, st_ids *out);
    /* For a model whose state is more than the pending bytes: the token in front of these, ST_NONE if none has left; begins a piece
     * behind a token; and whether the pushed bytes are a state that pushing can lead to. All three or none. */
    uint32_t (*previous)(const struct st_open *open, const struct st_vocab *vocab);
    st_status (*begin_behind)(struct st_open *open, struct st_vocab *vocab, uint32_t previous);
    int (*is_reached)(const struct st_open *open);
    /* For one whose state is more than that: appends what it is besides the pending bytes; and brings a piece that was just begun to a
     * state, ST_BAD_STATE if ids could come of it that are not those of the pending text[0..n). Both or none. */
    st_status (*save)(const struct st_open *open, st_bytes *out);
    st_status (*load)(struct st_open *open, struct st_vocab *vocab, const uint8_t *text, size_t n, const uint8_t *state, size_t size);

    /* For a model that does not keep bytes: appends where in a piece the bytes begin that each of its ids stands for. NULL: the sizes
     * of the tokens tell. */
    st_status (*starts)(struct st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out);

    /* Puts the ids of their bytes in the place of fragments, in ids->data[from..size). NULL: there are none. ST_NO_MEMORY leaves
     * them as they were, and so does ST_MISSING_BYTE: the text holds a byte that is no token. */
    st_status (*spell)(const struct st_vocab *vocab, st_ids *ids, size_t from);

    const st_model_seams *seams; /* NULL: there are none */

    /* What the model builds of a vocabulary at its first text, as bytes for an image; and the same from such bytes, aligned to 64, which
     * stay where they are: ST_BAD_IMAGE where they have another size. Both or none. */
    st_status (*save_machine)(struct st_vocab *vocab, st_bytes *out);
    st_status (*open_machine)(struct st_vocab *vocab, const uint8_t *data, size_t n);
} st_model;

/* The model of that name; NULL: there is none. */
typedef const st_model *st_find_model(const char *name);

#endif
