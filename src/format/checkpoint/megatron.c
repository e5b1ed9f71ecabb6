/* megatron.c - see megatron.h.
 *
 * Ranks of one tensor-parallel group follow each other, whatever order the other axes have: rank modulo their number is the place in the
 * group, which is the first number of the directory's name. */
#include "format/checkpoint/megatron.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/torch.h"

bool assay_megatron_parse(const char *name, uint32_t at[ASSAY_MEGATRON_FIELDS], uint32_t *fields)
{
    static const char BEGIN[] = "mp_rank_";
    if (strncmp(name, BEGIN, sizeof BEGIN - 1) != 0)
        return false;
    name += sizeof BEGIN - 1;
    for (*fields = 0; *fields < ASSAY_MEGATRON_FIELDS;) {
        uint64_t number = 0;
        const char *from = name;
        for (; assay_is_digit(*name); name++)
            number = number < ASSAY_MEGATRON_SIZE_MOST ? number * 10 + (uint64_t)(*name - '0') : number;
        if (name == from || number >= ASSAY_MEGATRON_SIZE_MOST)
            return false;
        at[(*fields)++] = (uint32_t)number;
        if (*name == '\0' || *name == '/')
            return true;
        if (*name++ != '_')
            return false;
    }
    return false;
}

/* -1: there is no such number. */
static int64_t number_under(const assay_pickle *p, uint32_t node, const char *key)
{
    const uint32_t value = assay_pickle_get(p, node, key);
    const bool whole = value != ASSAY_PICKLE_NOTHING && p->node[value].kind == ASSAY_PICKLE_INT;
    return whole && p->node[value].integer >= 0 && p->node[value].integer < ASSAY_MEGATRON_SIZE_MOST
               ? p->node[value].integer
               : -1;
}

static int64_t size_under(const assay_pickle *p, uint32_t node, const char *key)
{
    const int64_t size = number_under(p, node, key);
    return size > 0 ? size : 0;
}

void assay_megatron_read(const assay_pickle *p, assay_megatron_arguments *out)
{
    const uint32_t arguments = assay_pickle_get(p, p->root, "args");
    const uint32_t state = arguments != ASSAY_PICKLE_NOTHING && p->node[arguments].kind == ASSAY_PICKLE_OBJECT
                               ? p->node[arguments].c
                               : arguments;
    *out = (assay_megatron_arguments){.rank = -1};
    if (state == ASSAY_PICKLE_NOTHING)
        return;
    out->tp = size_under(p, state, "tensor_model_parallel_size");
    out->pp = size_under(p, state, "pipeline_model_parallel_size");
    out->ep = size_under(p, state, "expert_model_parallel_size");
    out->rank = number_under(p, state, "rank");
    out->world = size_under(p, state, "world_size");
    const uint32_t gated = assay_pickle_get(p, state, "swiglu");
    out->gated =
        gated != ASSAY_PICKLE_NOTHING && p->node[gated].kind == ASSAY_PICKLE_BOOL && p->node[gated].integer != 0;
}

static int take_arguments(assay_torch *t, void *context)
{
    assay_megatron_read(&t->pickle, context);
    return ASSAY_OK;
}

/* What the file at the path says; nothing where it is not there or cannot be read. */
static assay_megatron_arguments read_other(const assay_ckpt_file *f, const char *path)
{
    assay_megatron_arguments said = {.rank = -1};
    assay_problems unheard;
    assay_contents c;
    if (assay_store_exists(f->to->store, path, NULL) != 1)
        return said;
    assay_problems_init(&unheard);
    if (assay_contents_init(&c, f->to->store, f->to->step, f->to->directory, &unheard) == ASSAY_OK)
        assay_ckpt_read_torch(&c, path, ASSAY_MEGATRON_FILE, take_arguments, &said);
    assay_contents_release(&c);
    assay_ckpt_unheard(f->to->store, &unheard);
    return said;
}

enum { TP, PP, ORDERS = 2 };

/* The first numbers of the directory of who saved it. Stages of a pipeline are numbered behind the data-parallel ranks (order 0), or before
 * them. */
static void place_of(const assay_megatron_arguments *said, int order, uint32_t place[2])
{
    const int64_t tp = said->tp > 0 ? said->tp : 1, pp = said->pp > 0 ? said->pp : 1;
    const int64_t each = said->world / pp > 0 ? said->world / pp : 1;
    place[TP] = (uint32_t)(said->rank % tp);
    place[PP] = (uint32_t)(order == 0 ? said->rank / each % pp : said->rank / tp % pp);
}

/* May the file be the one of the directory with these numbers? */
static bool may_be_of(const assay_megatron_arguments *said, const uint32_t at[ASSAY_MEGATRON_FIELDS], bool staged)
{
    bool may = said->rank < 0 || (said->pp > 1 && said->world < said->pp);
    for (int order = 0; order < ORDERS && !may; order++) {
        uint32_t place[2];
        place_of(said, order, place);
        may = place[TP] == at[TP] && (!staged || place[PP] == at[PP]);
    }
    return may;
}

/* Is the directory that these arguments speak of there, with a file that is not its own either? `path` is its file's. */
static bool is_exchanged(const assay_ckpt_file *f, size_t from, const assay_megatron_arguments *own, int order,
                         bool staged, char path[ASSAY_PATH_ROOM])
{
    uint32_t place[ASSAY_MEGATRON_FIELDS] = {0};
    const char *digits = f->path + from + strlen("mp_rank_");
    const int first = (int)strspn(digits, "0123456789");
    const char *stage = digits + first + staged;
    const int second = staged ? (int)strspn(stage, "0123456789") : 0;
    char middle[24] = "";
    place_of(own, order, place);
    if (staged)
        snprintf(middle, sizeof middle, "_%0*" PRIu32, second, place[PP]);
    if (snprintf(path, ASSAY_PATH_ROOM, "%.*s%0*" PRIu32 "%s%s", (int)(digits - f->path), f->path, first, place[TP],
                 middle, stage + second) >= ASSAY_PATH_ROOM)
        return false;
    const assay_megatron_arguments other = read_other(f, path);
    return other.rank >= 0 && !may_be_of(&other, place, staged);
}

void assay_megatron_check_rank(assay_ckpt_file *f, const assay_pickle *p)
{
    static const char FILE[] = "/" ASSAY_MEGATRON_FILE;
    const size_t length = strlen(f->path);
    uint32_t at[ASSAY_MEGATRON_FIELDS], fields;
    assay_megatron_arguments own;
    char path[ASSAY_PATH_ROOM];
    if (length < sizeof FILE || strcmp(f->path + length - (sizeof FILE - 1), FILE) != 0)
        return;
    size_t from = length - (sizeof FILE - 1);
    while (from > 0 && f->path[from - 1] != '/')
        from--;
    if (!assay_megatron_parse(f->path + from, at, &fields))
        return;
    assay_megatron_read(p, &own);
    const bool staged = own.pp > 1 && fields > 1; /* else a second number is that of experts */
    if (may_be_of(&own, at, staged))
        return;
    for (int order = 0; order < (staged ? ORDERS : 1); order++)
        if (is_exchanged(f, from, &own, order, staged, path)) {
            assay_ckpt_problem(
                f, ASSAY_PROBLEM_INDEX_MISMATCH, -1,
                "rank %lld saved it, whose file is %s, and that is another rank's: they stand in each other's place",
                (long long)own.rank, path);
            return;
        }
}
