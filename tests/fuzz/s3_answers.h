/* s3_answers.h - a server of the S3 protocol in the memory of a fuzz target, and the transport that reaches it: a third
 * body of http/http.h, beside libcurl's and the one without. No socket, no thread, no clock: a request is answered when
 * somebody waits for it, and its next attempt follows at once. */
#ifndef ASSAY_FUZZ_S3_ANSWERS_H
#define ASSAY_FUZZ_S3_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBJECTS_MOST = 48, KEY_ROOM = 160, VERSIONS = 4 };

typedef struct s3_object {
    char key[KEY_ROOM];
    const uint8_t *bytes;
    size_t size, zeros; /* `zeros` follow the bytes */
    unsigned version;   /* another one, other bytes and another ETag */
    bool gone;
} s3_object;

/* What becomes of a request. */
typedef enum s3_act_kind {
    S3_ACT_REFUSE, /* one of the refusals that servers give */
    S3_ACT_BREAK,  /* no answer, or half of one */
    S3_ACT_CUT,    /* a body that is shorter than the answer says */
    S3_ACT_RANGE,  /* another range, or another size of the whole */
    S3_ACT_ETAG,   /* another ETag */
    S3_ACT_WHOLE,  /* the whole object in spite of the range */
    S3_ACT_RAW,    /* the content of some object as the body */
    S3_ACT_FLIP,   /* a byte of the body */
    S3_ACT_CHANGE, /* first the object becomes another one of the same size */
    S3_ACT_VANISH, /* first some object is removed */
    S3_ACT_BARE,   /* headers are missing */
    S3_ACT_TOKEN,  /* another continuation token */
    S3_ACT_KINDS
} s3_act_kind;

typedef struct s3_act {
    uint8_t number;   /* of the request, from 0 */
    uint8_t kind;     /* modulo S3_ACT_KINDS; its highest bit: of all requests from that one on */
    uint8_t argument; /* which refusal, object, byte, ... */
} s3_act;

typedef struct s3_server {
    s3_object *object; /* [count] in the order of keys */
    size_t count;
    const uint8_t *acts; /* [act_count] three bytes each, as in s3_act */
    size_t act_count;
    size_t page;       /* keys in a page of a listing at most */
    unsigned requests; /* that came */
    bool acted;        /* something became of one */
    bool lied;         /* in a way that no client can notice */
} s3_server;

/* The one that all requests go to. */
extern s3_server s3_now;

/* A byte of a version of an object. */
uint8_t s3_object_byte(const s3_object *object, unsigned version, size_t at);

#endif
