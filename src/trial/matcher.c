/* matcher.c - does a tensor belong to a collection? */
#include "trial/collections.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

struct assay_matcher {
    const assay_collection *collection; /* borrowed; its names are in byte order */
    assay_regex **regex;
    size_t regexes;
};

int assay_matcher_new(const assay_collection *c, assay_matcher **out, assay_problems *problems)
{
    assay_matcher *m = assay_alloc_zeroed(1, sizeof *m);
    if (!m)
        return ASSAY_ENOMEM;
    m->collection = c;
    m->regex = assay_alloc_zeroed(c->regexes, sizeof *m->regex);
    int status = m->regex ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < c->regexes && status == ASSAY_OK; i++) {
        assay_error err = {{0}};
        status = assay_regex_new(c->regex[i], &m->regex[m->regexes], &err);
        if (status == ASSAY_OK) {
            m->regexes++;
        } else if (status != ASSAY_ENOMEM) {
            status = ASSAY_OK;
            assay_problems_add(problems, ASSAY_PROBLEM_COLLECTIONS, -1, "collections", -1,
                               "collection \"%.100s\": include_regex is left out: %s", c->name, err.text);
        }
    }
    if (status != ASSAY_OK) {
        assay_matcher_free(m);
        return status;
    }
    *out = m;
    return ASSAY_OK;
}

/* Is it listed? A listed name holds no NUL; the tensor's may. */
static bool is_listed(const assay_collection *c, const char *tensor, size_t length)
{
    size_t low = 0, high = c->tensors;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t listed = strlen(c->tensor[middle]);
        int order = memcmp(c->tensor[middle], tensor, listed < length ? listed : length);
        if (order == 0 && listed == length)
            return true;
        if (order < 0 || (order == 0 && listed < length))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool assay_matcher_has(const assay_matcher *m, const char *tensor, size_t length)
{
    if (is_listed(m->collection, tensor, length))
        return true;
    for (size_t i = 0; i < m->regexes; i++)
        if (assay_regex_search(m->regex[i], tensor, length) == 1)
            return true;
    return false;
}

void assay_matcher_free(assay_matcher *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->regexes; i++)
        assay_regex_free(m->regex[i]);
    free(m->regex);
    free(m);
}
