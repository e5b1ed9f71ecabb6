/* words.c - what the findings of the rules mean for a checkpoint, and what was not read. */
#include "verify/words.h"

#include <string.h>

/* What a test of CheckpointStructure found, in words. */
static const char *change_of(const char *test)
{
    static const struct {
        const char *test, *words;
    } known[] = {{"vanished", "it was there at the step before"},
                 {"tied", "it is no longer tied"},
                 {"dtype", "its dtype changed"},
                 {"optimizer", "the optimizer has state of parameters that the model does not have"},
                 {"shape", "its shape changed"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].test, test) == 0)
            return known[i].words;
    return test;
}

/* A worker that wrote nothing, or another one's copy. */
static void put_workers(const assay_trial_outcome *trial, const assay_rule_ops *ops, const assay_finding *f,
                        const char *tensor, assay_buf *out)
{
    const char *worker = f->worker == ASSAY_ALL_WORKERS ? "a worker" : assay_trial_worker(trial->info, f->worker);
    if (strcmp(ops->name, "MissingWorker") == 0)
        assay_put_format(out, "%s is missing, which saved its part at other steps or has a place among the ranks",
                         worker);
    else if (f->note && strncmp(f->note, "no majority", 11) == 0)
        assay_put_format(out, "%s: the copies of %s and of another rank differ, and nothing says which is right",
                         tensor, worker);
    else
        assay_put_format(out, "%s: copies that should be equal are not, %s's is another one", tensor, worker);
}

void assay_verify_put_meaning(const assay_trial_outcome *trial, const assay_rule_outcome *rule, const assay_finding *f,
                              const char *tensor, assay_buf *out)
{
    const assay_rule_ops *ops = rule->instance->ops;
    if (strcmp(ops->name, "MissingWorker") == 0 || strcmp(ops->name, "ReplicaDivergence") == 0) {
        put_workers(trial, ops, f, tensor, out);
        if (f->note && strncmp(f->note, "no majority", 11) != 0)
            assay_put_format(out, "; %s", f->note);
        assay_put_u8(out, '\0');
        return;
    }
    assay_put_format(out, "%s: ", tensor);
    if (strcmp(ops->name, "ExplodingTensor") == 0)
        assay_put_format(out, "%.0f element%s NaN or infinite", f->value, f->value == 1 ? " is" : "s are");
    else if (strcmp(ops->name, "AllZero") == 0)
        assay_put_format(out, f->note ? "zeros in the middle of values: was all of it written?"
                                      : "all elements are zero: was it written to its end?");
    else if (strcmp(ops->name, "TensorVariance") == 0)
        assay_put_format(out, "its variance is %.3g: no training keeps elements so far apart", f->value);
    else if (strcmp(ops->name, "NegativeSecondMoment") == 0)
        assay_put_format(out, "%.0f element%s below zero, in an average of squares", f->value,
                         assay_plural((uint64_t)f->value));
    else if (strcmp(ops->name, "AdamMomentBound") == 0)
        assay_put_format(out, "no gradients can have made this moment (%s %.6g)", ops->tests[f->test], f->value);
    else
        assay_put_format(out, "%s", change_of(ops->tests[f->test]));
    if (f->note && strcmp(ops->name, "ExplodingTensor") != 0)
        assay_put_format(out, "; %s", f->note);
    assay_put_u8(out, '\0');
}

const char *assay_verify_said_of(const char *path, const char *text)
{
    const size_t length = strlen(path);
    return strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0 ? text + length + 2 : text;
}

/* Is it a tensor that torch puts together in a way that is not read (sparse, quantized, of several devices), or an array
 * of NumPy, whose numbers lie in the pickle as text? What is only state is not required. */
static bool is_unread(const assay_trial_others *others, uint32_t i)
{
    const assay_trial_other *o = &others->list[i];
    return strcmp(o->kind, "object") == 0 && strncmp(assay_dict_name(others->paths, i, NULL), "state/", 6) != 0 &&
           (strncmp(o->value, "torch._utils._rebuild_", 22) == 0 ||
            strcmp(o->value, "numpy.core.multiarray._reconstruct") == 0 ||
            strcmp(o->value, "numpy._core.multiarray._reconstruct") == 0 || strstr(o->value, "ShardedTensor") ||
            strcmp(o->value, "torch._tensor._rebuild_from_type_v2") == 0);
}

int assay_verify_put_unread(const assay_trial_files *trial, int64_t from, int64_t to, int64_t *step, assay_buf *out)
{
    assay_trial_others others = {0};
    const int status = assay_trial_list_others(trial, from, to, &others);
    const uint32_t all = status == ASSAY_OK ? assay_dict_count(others.paths) : 0;
    uint32_t count = 0, first = 0;
    for (uint32_t i = 0; i < all; i++) {
        if (!is_unread(&others, i))
            continue;
        *step = count == 0 || others.list[i].last_step > *step ? others.list[i].last_step : *step;
        first = count++ ? first : i;
    }
    if (count > 0)
        assay_put_format(out, "%u tensor%s of a kind that is not read, and nothing is known of %s elements: %s%s (%s)",
                         count, count > 1 ? "s are" : " is", count > 1 ? "their" : "its",
                         assay_dict_name(others.paths, first, NULL), count > 1 ? ", ..." : "",
                         others.list[first].value);
    assay_put_u8(out, '\0');
    assay_trial_others_release(&others);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

void assay_verify_put_loading(const char *path, const char *where, const assay_loading *found, assay_buf *out)
{
    const assay_loading_name *worst = NULL;
    size_t more = 0;
    for (size_t i = 0; i < found->kept; i++) {
        const assay_loading_name *n = &found->list[i];
        if (n->grade != found->grade)
            continue;
        more += worst != NULL;
        worst = !worst || (n->called && !worst->called) ? n : worst;
    }
    const char *does = found->grade != ASSAY_LOADING_CODE ? "needs" : worst->called ? "runs" : "names";
    assay_put_format(out, "%s: loading this %s %s (%s at offset %llu%s%s)", path, does, worst->name, worst->opcode,
                     (unsigned long long)worst->offset, *where ? " of " : "", where);
    if (more > 0)
        assay_put_format(out, " and %zu more", more);
    if (found->grade == ASSAY_LOADING_CLASSES)
        assay_put_format(out, ", classes of its own program");
    assay_put_u8(out, '\0');
}
