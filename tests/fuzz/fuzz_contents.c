/* Any bytes as what tensors hold - trees, labels, predictions, images, texts, of any shape - as every rule maps them:
 * states that pack and join, and come to a verdict. */
#include <stdlib.h>

#include "../laws/variants.h"
#include "../laws/world.h"
#include "rule/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* The state of the steps [from, to); NULL when the rule refuses one of them. */
static void *map_steps(const world *w, uint64_t from, uint64_t to)
{
    assay_error err = {""};
    void *state = w->rule.ops->state_new(&w->rule);
    must(state != NULL);
    for (uint64_t i = from; i < to; i++)
        if (w->rule.ops->map(&w->rule, state, &w->views[i], &err) != ASSAY_OK) {
            w->rule.ops->state_free(state);
            return NULL;
        }
    return state;
}

static void try_world(const world *w)
{
    assay_verdict verdict;
    assay_buf bytes;
    assay_buf_init(&bytes, (size_t)1 << 28);
    void *state = map_steps(w, 0, w->view_count / 2), *later = map_steps(w, w->view_count / 2, w->view_count);
    if (state && later) {
        must(w->rule.ops->combine(&w->rule, state, later, NULL) == ASSAY_OK);
        must(w->rule.ops->pack(&w->rule, state, &bytes) == ASSAY_OK);
        must(assay_verdict_init(&verdict, 100) == ASSAY_OK);
        must(assay_verdict_reach(&w->rule, state, &verdict) == ASSAY_OK);
        assay_verdict_release(&verdict);
    }
    if (state)
        w->rule.ops->state_free(state);
    if (later)
        w->rule.ops->state_free(later);
    assay_buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_instance *instance[100][MOST_VARIANTS];
    static size_t count[100], rules;
    assay_error err;
    const assay_rule_ops *ops;
    if (rules == 0) {
        must(assay_rule_register_builtin(NULL) == ASSAY_OK);
        for (size_t i = 0; rules < 100 && (ops = assay_rule_at(i)); i++) {
            if (ops->traits & ASSAY_RULE_TIMELINE) /* worlds hold tensors */
                continue;
            must((count[rules] = variants_make(ops, instance[rules], &err)) > 0);
            rules++;
        }
    }
    if (size < 3)
        return 0;
    world w;
    const size_t rule = data[0] % rules;
    must(world_make_of(&w, instance[rule][data[1] % count[rule]], data[2], data + 3, size - 3));
    try_world(&w);
    world_release(&w);
    return 0;
}
