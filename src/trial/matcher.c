/* matcher.c - does a tensor belong to a collection? */
#include "base/search.h"
#include "trial/collections.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* One for each collection that a rule asks for, on each rank. Patterns are foreign: they come from the trial's files
 * or its format's defaults. */
struct assay_matcher {
    const assay_collection *collection; /* borrowed; its names are in byte order */
    const char *file;                   /* that messages name; borrowed */
    assay_regex **regex;
    const char **pattern; /* of each regex; borrowed */
    size_t regexes;
    bool told; /* that a regex gave up */
};

int assay_matcher_new(const assay_collections *all, size_t number, assay_matcher **out, assay_problems *problems)
{
    const assay_collection *c = &all->list[number];
    assay_matcher *m = assay_alloc_zeroed(1, sizeof *m);
    ASSAY_HAVE(m);
    m->collection = c;
    m->file = all->file ? all->file : "";
    m->regex = assay_alloc_zeroed(c->regexes, sizeof *m->regex);
    m->pattern = assay_alloc_zeroed(c->regexes, sizeof *m->pattern);
    int status = m->regex && m->pattern ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < c->regexes && status == ASSAY_OK; i++) {
        assay_error err = {{0}};
        status = assay_regex_share(c->regex[i], &m->regex[m->regexes], &err);
        if (status == ASSAY_OK) {
            m->pattern[m->regexes++] = c->regex[i];
        } else if (status != ASSAY_ENOMEM) {
            /* A pattern that does not compile leaves the rest of the collection in use. */
            status = ASSAY_OK;
            assay_problems_add(problems, ASSAY_PROBLEM_COLLECTIONS, -1, m->file, -1,
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
    size_t low = 0;
    ASSAY_SEARCH(low, c->tensors, assay_order_bytes(c->tensor[low], strlen(c->tensor[low]), tensor, length) < 0);
    return low < c->tensors && assay_order_bytes(c->tensor[low], strlen(c->tensor[low]), tensor, length) == 0;
}

/* Names first: a search of a list is quicker than a pattern. Called once for each tensor and matcher, from one
 * thread. */
int assay_matcher_has(assay_matcher *m, const char *tensor, size_t length, assay_problems *problems)
{
    if (is_listed(m->collection, tensor, length))
        return 1;
    for (size_t i = 0; i < m->regexes; i++) {
        int found = assay_regex_search(m->regex[i], tensor, length);
        if (found == 1 || found == ASSAY_ENOMEM)
            return found;
        /* Said once a matcher: a pattern that takes long on one name does so on many. */
        if (found < 0 && problems && !m->told) {
            m->told = true;
            assay_problems_add(
                problems, ASSAY_PROBLEM_COLLECTIONS, -1, m->file, -1,
                "collection \"%.100s\": include_regex \"%.200s\" takes too long on tensor \"%.*s\", which counts as "
                "no match, and so may others: simplify the pattern",
                m->collection->name, m->pattern[i], (int)(length < 200 ? length : 200), tensor);
        }
    }
    return 0;
}

void assay_matcher_free(assay_matcher *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->regexes; i++)
        assay_regex_free(m->regex[i]);
    free(m->regex);
    free(m->pattern);
    free(m);
}
