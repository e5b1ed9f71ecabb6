/* shard_set.c - names the files of a set that are missing, by the names of those that are there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/format/checkpoint/shard_map.h"

/* The name of a shard with a star for its number. */
static int set_of(const char *name, const char *number, char out[ASSAY_PATH_ROOM])
{
    return snprintf(out, ASSAY_PATH_ROOM, "%.*s*%s", (int)(number - name), name, number + sizeof "00001" - 1);
}

int assay_ckpt_name_missing(assay_contents *c, const char *directory, const assay_names *names, assay_ckpt_kind kind)
{
    char set[ASSAY_PATH_ROOM];
    assay_dict *sets = assay_dict_new();
    unsigned long *there = assay_alloc_zeroed(names->count, sizeof *there);
    int status = sets && there ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < names->count && status == ASSAY_OK; i++) {
        const char *name = names->name[i], *number = assay_ckpt_shard_number(name);
        if (!number || assay_ckpt_kind_of(name) != kind)
            continue;
        const int length = set_of(name, number, set);
        const uint32_t id = length < ASSAY_PATH_ROOM ? assay_dict_add(sets, set, (size_t)length) : ASSAY_NO_ID;
        if (id == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
        else
            there[id]++;
    }
    for (uint32_t i = 0; status == ASSAY_OK && i < assay_dict_count(sets); i++) {
        const char *name = assay_dict_name(sets, i, NULL), *of = strstr(name, "*-of-");
        const unsigned long files = of ? strtoul(of + sizeof "*-of-" - 1, NULL, 10) : 0;
        if (there[i] < files &&
            snprintf(set, sizeof set, "%s%s%s", directory, *directory ? "/" : "", name) < ASSAY_PATH_ROOM)
            assay_problems_add(
                c->problems, ASSAY_PROBLEM_MISSING_SHARD, c->step, set, -1,
                "%s: %lu of the %lu files of the set are there, and no index names what the others have: "
                "it is missing from this analysis",
                set, there[i], files);
    }
    free(there);
    assay_dict_free(sets);
    return status;
}
