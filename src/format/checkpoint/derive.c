/* derive.c - which worker has which piece, as far as the names of files and what Megatron-LM and DeepSpeed save beside
 * the tensors say it. All steps are looked at together, so that a step without a rank changes nothing.
 *
 *   mp_rank_TT_PPP_EEE/   Megatron-LM: tensor, pipeline and expert parallel ranks; names of modules are its own
 *   mp_rank_MM            DeepSpeed: tensor-parallel ranks, with Megatron's older names of modules
 *   anything else         several ranks, and nothing known of them */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/checkpoint/checkpoint.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/megatron.h"
#include "format/checkpoint/torch.h"
#include "mesh/draft.h"

extern const assay_trial_format assay_format_checkpoint;

enum { TP, SECOND, THIRD, FIELDS = ASSAY_MEGATRON_FIELDS }; /* of a directory's name */
enum { SIZE_MOST = ASSAY_MEGATRON_SIZE_MOST, LAYER_DIGITS = 9 };

typedef struct megatron {
    assay_store *store;
    const assay_catalog *catalog;
    uint32_t fields;        /* of the names */
    uint32_t (*at)[FIELDS]; /* [workers] */
    assay_megatron_arguments said;
} megatron;

static const char *path_of(const assay_catalog *catalog, const assay_unit *unit)
{
    int64_t step;
    return assay_checkpoint_place(assay_format_places(&assay_format_checkpoint, catalog), unit->place, &step);
}

static int take_arguments(assay_torch *t, void *context)
{
    assay_megatron_read(&t->pickle, context);
    return ASSAY_OK;
}

static int read_arguments(megatron *m, const assay_unit *unit)
{
    char path[ASSAY_PATH_ROOM];
    const char *directory = path_of(m->catalog, unit);
    assay_problems unheard;
    assay_contents c;
    if (!directory ||
        snprintf(path, sizeof path, "%s%s%s/%s", directory, *directory ? "/" : "", m->catalog->worker_key[unit->worker],
                 ASSAY_MEGATRON_FILE) >= (int)sizeof path ||
        assay_store_exists(m->store, path, NULL) != 1)
        return ASSAY_OK;
    assay_problems_init(&unheard);
    int status = assay_contents_init(&c, m->store, unit->step, directory, &unheard);
    ASSAY_THEN(status, assay_ckpt_read_torch(&c, path, ASSAY_MEGATRON_FILE, take_arguments, &m->said));
    assay_contents_release(&c);
    assay_ckpt_unheard(m->store, &unheard);
    return status;
}

/* The number in "layers.N." of a model's name; -1: there is none. */
static int64_t layer_of(const char *name)
{
    static const char LAYERS[] = "layers.";
    const char *at = strstr(name, LAYERS);
    int64_t number = 0;
    if (!at || !isdigit((unsigned char)at[sizeof LAYERS - 1]))
        return -1;
    at += sizeof LAYERS - 1;
    for (int digits = 0; isdigit((unsigned char)*at); at++, digits++) {
        if (digits == LAYER_DIGITS)
            return -1;
        number = number * 10 + (*at - '0');
    }
    return *at == '.' ? number : -1;
}

/* How many layers a stage has: one more than the largest number, for stages number them from 0. */
static int count_layers(megatron *m, const assay_unit *unit, uint64_t *layers)
{
    const char *directory = path_of(m->catalog, unit);
    assay_problems unheard;
    assay_contents c;
    *layers = 0;
    if (!directory)
        return ASSAY_OK;
    assay_problems_init(&unheard);
    int status = assay_contents_init(&c, m->store, unit->step, directory, &unheard);
    ASSAY_THEN(status, assay_ckpt_read_step(&c, directory, m->catalog->worker_key[unit->worker]));
    for (size_t i = 0; i < c.count && status == ASSAY_OK; i++) {
        size_t length;
        const char *name = assay_dict_name(c.names, c.tensor[i].name, &length);
        const int64_t layer = c.tensor[i].role == ASSAY_CKPT_MODEL && !strchr(name, '/') ? layer_of(name) : -1;
        *layers = layer >= 0 && (uint64_t)layer + 1 > *layers ? (uint64_t)layer + 1 : *layers;
    }
    assay_contents_release(&c);
    assay_ckpt_unheard(m->store, &unheard);
    return status;
}

/* Layers of the stages before each; the field of the names has the stage. */
static int count_stages(megatron *m, uint32_t field, uint32_t stages, uint64_t *before)
{
    int status = ASSAY_OK;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < stages && status == ASSAY_OK; s++) {
        uint64_t layers = 0;
        before[s] = sum;
        for (size_t u = 0; u < m->catalog->unit_count && layers == 0 && status == ASSAY_OK; u++)
            if (m->at[m->catalog->units[u].worker][field] == s)
                status = count_layers(m, &m->catalog->units[u], &layers);
        sum += layers;
    }
    return status;
}

static uint32_t size_of(const megatron *m, uint32_t field, int64_t said)
{
    uint32_t most = 0;
    for (uint32_t w = 0; w < m->catalog->workers; w++)
        most = m->at[w][field] > most ? m->at[w][field] : most;
    return said > (int64_t)most + 1 ? (uint32_t)said : most + 1;
}

static int put_megatron(megatron *m, bool deepspeed, assay_buf *out)
{
    assay_topology_draft d = {.mesh = "dense",
                              .preset = deepspeed ? "deepspeed" : "megatron",
                              .gated = m->said.gated,
                              .worker = m->catalog->worker,
                              .workers = m->catalog->workers};
    uint32_t field[FIELDS], pp = FIELDS, ep = FIELDS;
    if (m->fields == 3) {
        pp = SECOND;
        ep = THIRD;
    } else if (m->fields == 2) {
        pp = m->said.pp != 1 ? SECOND : FIELDS;
        ep = m->said.pp != 1 ? FIELDS : SECOND;
    }
    if (pp < FIELDS) {
        field[d.axes] = pp;
        d.axis[d.axes].name = "pp";
        d.axis[d.axes++].size = size_of(m, pp, m->said.pp);
    }
    if (ep < FIELDS) {
        field[d.axes] = ep;
        d.axis[d.axes].name = "ep";
        d.axis[d.axes++].size = size_of(m, ep, m->said.ep);
    }
    field[d.axes] = TP;
    d.axis[d.axes].name = "tp";
    d.axis[d.axes++].size = size_of(m, TP, m->said.tp);
    uint64_t *before = pp < FIELDS ? assay_alloc_zeroed(d.axis[0].size, sizeof *before) : NULL;
    uint32_t *at = assay_alloc((size_t)d.workers * d.axes * sizeof *at);
    int status = at && (before || pp == FIELDS) ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK && before)
        status = count_stages(m, pp, d.axis[0].size, before);
    for (uint32_t w = 0; w < d.workers && status == ASSAY_OK; w++)
        for (uint32_t a = 0; a < d.axes; a++)
            at[w * d.axes + a] = m->at[w][field[a]];
    d.before = before;
    d.at = at;
    if (status == ASSAY_OK)
        assay_topology_put_draft(&d, out);
    free(before);
    free(at);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

int assay_checkpoint_derive(assay_store *store, const assay_catalog *catalog, assay_buf *out, assay_buf *why,
                            assay_problems *problems)
{
    (void)problems; /* a file that cannot be read is one of the index's problems */
    megatron m = {.store = store, .catalog = catalog};
    if (catalog->workers == 0 || catalog->unit_count == 0 || (catalog->workers == 1 && !catalog->worker_key[0]))
        return ASSAY_OK;
    m.at = assay_alloc_zeroed(catalog->workers, sizeof *m.at);
    ASSAY_HAVE(m.at);
    bool all = true;
    for (uint32_t w = 0; w < catalog->workers && all; w++) {
        uint32_t fields = 0;
        all = assay_megatron_parse(catalog->worker_key[w], m.at[w], &fields) && (w == 0 || fields == m.fields);
        m.fields = fields;
    }
    const assay_unit *first = &catalog->units[0];
    const char *directory = path_of(catalog, first);
    assay_names names = {0};
    bool deepspeed = false;
    if (all && directory && assay_store_list(store, directory, &names, NULL) == ASSAY_OK)
        deepspeed = !assay_names_have(&names, catalog->worker_key[first->worker]);
    assay_names_release(&names);
    int status = all && !deepspeed ? read_arguments(&m, first) : ASSAY_OK;
    if (catalog->workers == 1 && m.said.tp < 2 && m.said.pp < 2 && m.said.ep < 2) { /* it has all of every tensor */
        free(m.at);
        return status;
    }
    if (status == ASSAY_OK)
        status =
            all ? put_megatron(&m, deepspeed, out) : assay_topology_put_unknown(catalog->worker, catalog->workers, out);
    if (all)
        assay_put_format(
            why, "made from the names of the %s, the arguments and layers saved in them; modules by the preset %s\n",
            deepspeed ? "files" : "directories", deepspeed ? "deepspeed" : "megatron");
    else
        assay_put_format(why, "several ranks, and nothing known of them: an axis that nothing is said of\n");
    free(m.at);
    return status;
}
