/* topology_groups.c - see topology_groups.h. */
#include "cli/topology_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "mesh/draft.h"
#include "topology/group_files.h"
#include "topology/pieces.h"

enum { PATH_ROOM = 4096 };

static int look_in(const char *path, const char *directory, assay_groups *groups, assay_group_files *found,
                   assay_error *err)
{
    assay_store *store = NULL;
    int status = assay_store_open(path, &store, err);
    if (status == ASSAY_OK)
        status = assay_groups_find(store, directory, groups, found);
    assay_store_close(store);
    return status;
}

/* Does a directory beside a trial look as if it held dumps or traces? */
static bool is_telling(const char *name)
{
    static const char *const WORDS[] = {"trace", "flight", "dump", "nccl", "profil"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(name, WORDS[i]))
            return true;
    return false;
}

/* Directories beside the trial, on this machine. */
static int look_beside(const char *location, assay_groups *groups, assay_group_files *found)
{
    char parent[PATH_ROOM];
    assay_store *store = NULL;
    assay_names names = {0};
    if (strstr(location, "://") || snprintf(parent, sizeof parent, "%s/..", location) >= (int)sizeof parent)
        return ASSAY_OK;
    int status = assay_store_open(parent, &store, NULL);
    if (status == ASSAY_OK)
        status = assay_store_list(store, "", &names, NULL);
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++)
        if (is_telling(names.name[i]))
            status = assay_groups_find(store, names.name[i], groups, found);
    assay_names_release(&names);
    assay_store_close(store);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

static int look(const char *location, const char *place, assay_groups *groups, assay_group_files *found,
                assay_error *err)
{
    if (place)
        return look_in(place, "", groups, found, err);
    int status = look_in(location, "", groups, found, NULL);
    if (status != ASSAY_ENOMEM && groups->count == 0)
        status = look_beside(location, groups, found);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* Workers by the ranks that groups have. NULL without memory. */
static char **name_workers(const assay_groups *groups, uint32_t *workers)
{
    uint32_t most = 0;
    for (size_t i = 0; i < groups->count; i++)
        for (uint32_t k = 0; k < groups->list[i].ranks; k++)
            most = groups->list[i].rank[k] >= most ? groups->list[i].rank[k] + 1 : most;
    char **worker = assay_alloc_zeroed((size_t)most + 1, sizeof *worker);
    for (*workers = 0; worker && *workers < most; (*workers)++) {
        char name[32];
        snprintf(name, sizeof name, "worker_%u", *workers);
        worker[*workers] = assay_copy_text(name);
        if (!worker[*workers])
            break;
    }
    return worker;
}

static void free_workers(char **worker, uint32_t workers)
{
    for (uint32_t w = 0; worker && w < workers; w++)
        free(worker[w]);
    free(worker);
}

static bool is_megatron(const assay_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->list[i].name, "TENSOR_MODEL_PARALLEL_GROUP") == 0)
            return true;
    return false;
}

/* Entries of a preset for the axes that groups have. */
static int put_preset(assay_said *said, const char *preset, assay_buf *why)
{
    assay_rank_layout ranks;
    assay_buf unheard;
    assay_topology_draft d = {.preset = preset};
    assay_buf_init(&unheard, SIZE_MAX);
    int status = assay_groups_lay_out(&said->groups, &ranks, &unheard);
    for (uint32_t a = 0; status == ASSAY_OK && ranks.meshes > 0 && a < ranks.mesh[0].axes; a++) {
        d.axis[d.axes].name = ranks.mesh[0].axis[a].name;
        d.axis[d.axes++].size = ranks.mesh[0].axis[a].size;
    }
    if (status == ASSAY_OK && ranks.meshes > 0) {
        said->entry_count += assay_topology_put_preset(&d, &said->entries);
        assay_put_format(why, "tensors: by the preset %s; read it before you believe it\n", preset);
    }
    assay_rank_layout_release(&ranks);
    assay_buf_release(&unheard);
    return status == ASSAY_OK ? assay_buf_status(&said->entries) : status;
}

static int make(assay_groups *groups, char *const *worker, uint32_t workers, const char *preset, assay_buf *out,
                assay_buf *why)
{
    assay_said said;
    const char *of = preset ? preset : is_megatron(groups) ? "megatron" : NULL;
    assay_problems none_said; /* groups say nothing of tensors */
    assay_problems_init(&none_said);
    int status = assay_said_init(&said, worker, workers, workers);
    const assay_groups none = said.groups;
    said.groups = *groups;
    *groups = none;
    said.mesh_alone = true;
    if (status == ASSAY_OK && of)
        status = put_preset(&said, of, why);
    if (status == ASSAY_OK)
        status = assay_said_put_topology(&said, out, why, &none_said);
    assay_problems_release(&none_said);
    assay_said_release(&said);
    return status;
}

int cli_topology_of_groups(const char *location, const char *place, char *const *worker, uint32_t workers,
                           const char *preset, assay_buf *out, assay_buf *why, bool *made, assay_error *err)
{
    assay_groups groups;
    assay_group_files found = {0};
    const size_t before = out->size;
    int status = assay_groups_init(&groups);
    if (status == ASSAY_OK)
        status = look(location, place, &groups, &found, err);
    if (status == ASSAY_OK && found.dumps + found.traces > 0)
        assay_put_format(why, "%zu groups in %u flight-recorder dump%s and %u trace%s\n", groups.count, found.dumps,
                         assay_plural(found.dumps), found.traces, assay_plural(found.traces));
    if (status == ASSAY_OK && found.damaged > 0)
        assay_put_format(why, "%u file%s could not be read: %s\n", found.damaged, assay_plural(found.damaged),
                         found.first);
    if (status == ASSAY_OK && groups.count > 0) {
        uint32_t ranks = 0;
        char **own = workers == 0 ? name_workers(&groups, &ranks) : NULL;
        status = workers > 0 || own ? make(&groups, own ? own : worker, own ? ranks : workers, preset, out, why)
                                    : ASSAY_ENOMEM;
        free_workers(own, ranks);
    }
    assay_groups_release(&groups);
    *made = out->size > before;
    return status;
}
