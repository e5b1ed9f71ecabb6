/* pickle_look.c - looks at the nodes of a pickle. */
#include <string.h>

#include "container/pickle.h"

static bool same(const assay_pickle *p, uint32_t at, uint64_t size, const char *text)
{
    return size == strlen(text) && memcmp(p->bytes + at, text, size) == 0;
}

bool assay_pickle_is_text(const assay_pickle *p, uint32_t node, const char *text)
{
    const assay_pickle_node *n = node == ASSAY_PICKLE_NOTHING ? NULL : &p->node[node];
    return n && n->kind == ASSAY_PICKLE_TEXT && same(p, n->a, n->size, text);
}

bool assay_pickle_is_global(const assay_pickle *p, uint32_t node, const char *module, const char *name)
{
    const assay_pickle_node *n = node == ASSAY_PICKLE_NOTHING ? NULL : &p->node[node];
    return n && n->kind == ASSAY_PICKLE_GLOBAL && same(p, n->a, n->b, module) && same(p, n->c, n->size, name);
}

/* The last of several equal keys counts, as in Python. */
uint32_t assay_pickle_get(const assay_pickle *p, uint32_t node, const char *key)
{
    uint32_t found = ASSAY_PICKLE_NOTHING;
    if (node == ASSAY_PICKLE_NOTHING)
        return found;
    const assay_pickle_node *n = &p->node[node];
    if (n->kind != ASSAY_PICKLE_DICT && n->kind != ASSAY_PICKLE_CALL && n->kind != ASSAY_PICKLE_OBJECT)
        return found;
    for (uint32_t i = n->first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next)
        if (assay_pickle_is_text(p, p->item[i].key, key))
            found = p->item[i].value;
    return found;
}

/* Linear in i: readers ask for the first few items. */
uint32_t assay_pickle_at(const assay_pickle *p, uint32_t node, size_t i)
{
    if (node == ASSAY_PICKLE_NOTHING ||
        (p->node[node].kind != ASSAY_PICKLE_LIST && p->node[node].kind != ASSAY_PICKLE_TUPLE))
        return ASSAY_PICKLE_NOTHING;
    uint32_t item = p->node[node].first;
    while (i-- > 0 && item != ASSAY_PICKLE_NOTHING)
        item = p->item[item].next;
    return item == ASSAY_PICKLE_NOTHING ? item : p->item[item].value;
}
