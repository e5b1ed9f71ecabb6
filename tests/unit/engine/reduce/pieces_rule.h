/* pieces_rule.h - a rule whose state shows how it was combined: a text of pieces, and brackets around what was joined.
 *
 * combine("a", "b") is "(ab)": neither commutative nor associative, so that another order or another tree is another
 * text. A piece with '!' makes combine fail. */
#ifndef ASSAY_TESTS_PIECES_RULE_H
#define ASSAY_TESTS_PIECES_RULE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/rule.h>

typedef struct pieces {
    char *text; /* owned */
} pieces;

/* A state that holds a copy of `text`. */
static inline pieces *pieces_of(const char *text)
{
    pieces *p = malloc(sizeof *p);
    p->text = strdup(text);
    return p;
}

static void *pieces_new(const assay_rule *rule)
{
    (void)rule;
    return pieces_of("");
}

static void pieces_free(void *state)
{
    free(((pieces *)state)->text);
    free(state);
}

static int pieces_combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    pieces *a = earlier;
    const pieces *b = later;
    (void)rule;
    if (strchr(b->text, '!'))
        return assay_fail(err, ASSAY_EUNSUPPORTED, "will not join %s", b->text);
    size_t room = strlen(a->text) + strlen(b->text) + 3;
    char *both = malloc(room);
    snprintf(both, room, "(%s%s)", a->text, b->text);
    free(a->text);
    a->text = both;
    return ASSAY_OK;
}

static int pieces_pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    (void)rule;
    assay_put_text(out, ((const pieces *)state)->text);
    return assay_buf_status(out);
}

static int pieces_unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    size_t length;
    const char *text = assay_get_text(in, &length);
    (void)rule;
    if (assay_cursor_bad(in))
        return assay_fail(err, ASSAY_EFORMAT, "pieces are cut short");
    pieces *p = pieces_of("");
    free(p->text);
    p->text = strndup(text, length);
    *state = p;
    return ASSAY_OK;
}

static const assay_rule_ops pieces_ops = {.abi = ASSAY_RULE_ABI,
                                          .size = sizeof(assay_rule_ops),
                                          .name = "Pieces",
                                          .state_new = pieces_new,
                                          .state_free = pieces_free,
                                          .combine = pieces_combine,
                                          .pack = pieces_pack,
                                          .unpack = pieces_unpack};

#endif
