/* draft.c - see draft.h. */
#include "mesh/draft.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

typedef struct pattern { /* what an entry says; the first that matches counts */
    const char *match;
    const char *kind; /* NULL: nothing */
    const char *axis;
    int dim;
    bool gated; /* of two matrices where the model is gated */
} pattern;

/* Megatron-LM's modules; DeepSpeed's Megatron has older names for the same. */
static const pattern MEGATRON[] = {
    {"(^|\\.)experts\\.|\\.mixer\\.", NULL, NULL, 0, false},
    {"layer_?norm|\\.norm\\.|_norm\\.", "replicate", "tp", 0, false},
    {"word_embeddings\\.weight$|^output_layer\\.(weight|bias)$", "split", "tp", 0, false},
    {"position_embeddings|tokentype_embeddings|router\\.", "replicate", "tp", 0, false},
    {"linear_fc1\\.(weight|bias)$|dense_h_to_4h\\.(weight|bias)$", "split", "tp", 0, true},
    {"linear_qkv\\.(weight|bias)$|query_key_value\\.(weight|bias)$", "split", "tp", 0, false},
    {"(linear_proj|linear_fc2)\\.weight$|(attention|self_attention)\\.dense\\.weight$|dense_4h_to_h\\.weight$", "split",
     "tp", -1, false},
    {"(linear_proj|linear_fc2)\\.bias$|\\.dense\\.bias$|dense_4h_to_h\\.bias$", "replicate", "tp", 0, false},
    {0},
};
/* Tensor parallelism of Hugging Face's models, as their plans have it. */
static const pattern HF_TP[] = {
    {"(q_proj|k_proj|v_proj|gate_proj|up_proj)\\.(weight|bias)$", "split", "tp", 0, false},
    {"(o_proj|down_proj)\\.weight$", "split", "tp", -1, false},
    {"(o_proj|down_proj)\\.bias$|norm\\.|layernorm", "replicate", "tp", 0, false},
    {0},
};
/* Fully sharded: stretches of a flattened module, or rows of each parameter. */
static const pattern FSDP[] = {
    {"flat_param", "flat", "dp", 0, false},
    {".", "split", "dp", 0, false},
    {0},
};

static const struct {
    const char *name;
    const pattern *list;
    bool gated; /* always */
} PRESETS[] = {
    {"megatron", MEGATRON, false}, {"fsdp", FSDP, false}, {"deepspeed", MEGATRON, true}, {"hf-tp", HF_TP, false}};
enum { PRESET_COUNT = sizeof PRESETS / sizeof *PRESETS };

static size_t find_preset(const char *name)
{
    size_t i = 0;
    while (i < PRESET_COUNT && strcmp(PRESETS[i].name, name) != 0)
        i++;
    return i;
}

bool assay_topology_has_preset(const char *name)
{
    return find_preset(name) < PRESET_COUNT;
}

const char *assay_topology_presets(void)
{
    return "megatron, fsdp, deepspeed, hf-tp";
}

/* Returns how many axes there are where none has the name, as all searches of this kind here do. */
static uint32_t find_axis(const assay_topology_draft *d, const char *name)
{
    uint32_t a = 0;
    while (a < d->axes && strcmp(d->axis[a].name, name) != 0)
        a++;
    return a;
}

static void put_axes(const assay_topology_draft *d, assay_buf *out)
{
    assay_put_format(out, "{\n \"schema\": \"assay-topology/1\",\n \"meshes\": {\"%s\": {\"axes\": [", d->mesh);
    for (uint32_t a = 0; a < d->axes; a++)
        assay_put_format(out, "%s[\"%s\", %u]", a ? ", " : "", d->axis[a].name, d->axis[a].size);
    assay_put_format(out, "]}}");
}

static void put_workers(const assay_topology_draft *d, assay_buf *out)
{
    assay_put_format(out, ",\n \"workers\": {");
    for (uint32_t w = 0; w < d->workers; w++) {
        assay_put_format(out, "%s\n  ", w ? "," : "");
        assay_json_put_text(out, d->worker[w]);
        assay_put_format(out, ": {\"%s\": {", d->mesh);
        for (uint32_t a = 0; a < d->axes; a++)
            assay_put_format(out, "%s\"%s\": %u", a ? ", " : "", d->axis[a].name, d->at[(size_t)w * d->axes + a]);
        assay_put_format(out, "}}");
    }
    assay_put_format(out, "\n }");
}

/* Puts the axes of copies: data-parallel ones have copies of whatever the entry says. */
static void put_copies(const assay_topology_draft *d, const char *beside, assay_buf *out)
{
    static const char *const copies[] = {"dp", "cp", "dp_replicate"};
    bool any = false;
    if (beside)
        assay_put_format(out, ", \"replicate\": [\"%s\"", beside);
    any = beside != NULL;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (find_axis(d, copies[i]) < d->axes && !(beside && strcmp(beside, copies[i]) == 0)) {
            assay_put_format(out, "%s\"%s\"", any ? ", " : ", \"replicate\": [", copies[i]);
            any = true;
        }
    if (any)
        assay_put_format(out, "]");
}

/* A pattern without a kind says nothing, and keeps the ones behind it from matching: experts are on a mesh of their
 * own. */
static void put_entry(const assay_topology_draft *d, const pattern *p, bool gated, assay_buf *out)
{
    const bool own = p->axis && strcmp(p->axis, "dp") == 0; /* of what is fully sharded nothing is copied along dp */
    assay_put_format(out, "{\"match\": ");
    assay_json_put_text(out, p->match);
    if (p->kind && strcmp(p->kind, "split") == 0)
        assay_put_format(out, ", \"split\": {\"%s\": {\"axis\": %d%s}}", p->axis, p->dim,
                         p->gated && gated ? ", \"parts\": [0.5, 0.5]" : "");
    else if (p->kind && strcmp(p->kind, "flat") == 0)
        assay_put_format(out, ", \"flat\": {\"%s\": {}}", p->axis);
    if (p->kind && !own)
        put_copies(d, strcmp(p->kind, "replicate") == 0 ? p->axis : NULL, out);
    assay_put_format(out, "}");
}

/* Puts the numbering of layers: those of pipeline stages are numbered from each stage's own first one. */
static void put_stages(const assay_topology_draft *d, assay_buf *out)
{
    const uint32_t pp = find_axis(d, "pp");
    assay_put_format(out, "{\"match\": \"layers\\\\.(\\\\d+)\\\\.\", \"number\": {\"group\": 1, \"add\": {\"pp\": [");
    for (uint32_t i = 0; i < d->axis[pp].size; i++)
        assay_put_format(out, "%s%" PRIu64, i ? ", " : "", d->before[i]);
    assay_put_format(out, "]}}, \"then\": \"next\"}");
}

uint32_t assay_topology_put_preset(const assay_topology_draft *d, assay_buf *out)
{
    const size_t preset = d->preset ? find_preset(d->preset) : PRESET_COUNT;
    uint32_t count = 0;
    for (const pattern *p = preset < PRESET_COUNT ? PRESETS[preset].list : NULL; p && p->match; p++, count++) {
        assay_put_format(out, "\n  ");
        put_entry(d, p, d->gated || PRESETS[preset].gated, out);
        assay_put_u8(out, ',');
    }
    return count;
}

void assay_topology_put_draft(const assay_topology_draft *d, assay_buf *out)
{
    const bool stages = d->before && find_axis(d, "pp") < d->axes;
    put_axes(d, out);
    if (d->worker)
        put_workers(d, out);
    assay_put_format(out, ",\n \"tensors\": [");
    if (stages) {
        assay_put_format(out, "\n  ");
        put_stages(d, out);
        assay_put_u8(out, ',');
    }
    const uint32_t entries = assay_topology_put_preset(d, out) + (stages ? 1 : 0);
    /* The last entry leaves a comma, which JSON does not have. */
    if (assay_buf_status(out) == ASSAY_OK && out->data[out->size - 1] == ',')
        out->size--;
    assay_put_format(out, "%s]\n}\n", entries > 0 ? "\n " : "");
}

/* The draft is for a trial of which nothing is known: one axis, on which each worker has a place. */
int assay_topology_put_unknown(char *const *worker, uint32_t workers, assay_buf *out)
{
    assay_topology_draft d = {.mesh = "workers", .axes = 1, .worker = worker, .workers = workers};
    uint32_t *at = assay_alloc((size_t)workers * sizeof *at + 1);
    ASSAY_HAVE(at);
    for (uint32_t w = 0; w < workers; w++)
        at[w] = w;
    d.axis[0].name = "worker";
    d.axis[0].size = workers;
    d.at = at;
    assay_topology_put_draft(&d, out);
    free(at);
    return assay_buf_status(out);
}
