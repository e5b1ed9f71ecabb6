/* collections.c - the collections file: what each collection is and which tensors it has. */
#include "hook/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

static const char *const mode_names[HOOK_MODES] = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"};

static void put_bool(assay_buf *out, const char *key, bool value)
{
    assay_put_format(out, "\"%s\": %s", key, value ? "true" : "false");
}

static void put_steps(assay_buf *out, const hook_steps *steps)
{
    const int64_t interval = __atomic_load_n(&steps->interval, __ATOMIC_RELAXED);
    assay_put_format(out, "{\"save_interval\": %lld, \"save_steps\": [", (long long)interval);
    for (size_t i = 0; i < steps->listed; i++)
        assay_put_format(out, "%s%lld", i ? ", " : "", (long long)steps->list[i]);
    assay_put_format(out, "], \"start_step\": %lld, \"end_step\": ", (long long)steps->start);
    if (steps->end < 0)
        assay_put_format(out, "null}");
    else
        assay_put_format(out, "%lld}", (long long)steps->end);
}

static void put_texts(assay_buf *out, const char *key, const char *const *texts, size_t count)
{
    assay_put_format(out, "\"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        if (i)
            assay_put_format(out, ", ");
        assay_json_put_text(out, texts[i]);
    }
    assay_put_format(out, "]");
}

/* The collection's tensors in byte order, each once: those seen and those declared by name. */
static size_t gather(const hook_collection *c, uint64_t bit, const hook_name *known, size_t count, const char **out)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (known[i].mask & bit)
            out[n++] = known[i].text;
    }
    for (size_t i = 0; i < c->names.count; i++)
        out[n++] = c->names.items[i];
    if (n)
        qsort(out, n, sizeof *out, assay_order_texts);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || strcmp(out[kept - 1], out[i]) != 0)
            out[kept++] = out[i];
    }
    return kept;
}

static void put_collection(assay_buf *out, const hook_collection *c, const char *const *tensors, size_t count)
{
    assay_json_put_text(out, c->name);
    assay_put_format(out, ": {\"name\": ");
    assay_json_put_text(out, c->name);
    assay_put_format(out, ", ");
    put_texts(out, "include_regex", (const char *const *)c->patterns.items, c->patterns.count);
    assay_put_format(out, ", ");
    put_texts(out, "tensor_names", tensors, count);
    assay_put_format(out, ", \"reduction_config\": {");
    put_bool(out, "save_raw_tensor", c->reduce.raw);
    assay_put_format(out, ", \"reductions\": \"");
    hook_reductions_put(out, &c->reduce);
    assay_put_format(out, "\", ");
    put_bool(out, "save_shape", c->reduce.shape);
    assay_put_format(out, "}, \"save_config\": {");
    for (int m = 0; m < HOOK_MODES; m++) {
        assay_put_format(out, "%s\"%s\": ", m ? ", " : "", mode_names[m]);
        if (__atomic_load_n(&c->rule_given[m], __ATOMIC_RELAXED))
            put_steps(out, &c->rule[m]);
        else
            assay_put_format(out, "null"); /* nobody said anything about this mode: the default holds */
    }
    assay_put_format(out, "}, ");
    put_bool(out, "save_histogram", c->histogram);
    assay_put_format(out, "}");
}

int hook_collections_write(const hook_config *config, int num_workers, const hook_name *known, size_t count,
                           assay_buf *out)
{
    size_t most = 0;
    for (size_t i = 0; i < config->count; i++)
        most = config->collections[i].names.count > most ? config->collections[i].names.count : most;
    const char **tensors = assay_realloc_array(NULL, count + most, sizeof *tensors);
    ASSAY_HAVE(tensors);
    bool first = true;
    assay_put_format(out, "{\"collections\": {");
    for (size_t i = 0; i < config->count; i++) {
        const hook_collection *c = &config->collections[i];
        size_t tensor_count = gather(c, (uint64_t)1 << i, known, count, tensors);
        if (!c->base && !c->included && tensor_count == 0)
            continue;
        if (!first)
            assay_put_format(out, ", ");
        first = false;
        put_collection(out, c, tensors, tensor_count);
    }
    assay_put_format(out, "}, \"_meta\": {\"num_workers\": %d}}", num_workers);
    free(tensors);
    return assay_buf_status(out);
}
