/* topology.c - assay topology: which worker has which piece of a trial's tensors, as a file to edit.
 *
 * The JSON goes to standard output, as it was given, found or made; what it makes of the tensors, to standard error. */
#include <assay/pack.h>
#include <assay/status.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "cli/cli.h"
#include "mesh/draft.h"
#include "mesh/relations.h"
#include "topology/group_files.h"
#include "topology/pieces.h"

/* ---- topology groups ---- */

/* A topology of process groups, for assay topology. */

enum { PATH_ROOM = 4096 };

static const char MAY_TELL[] = "groups that it tells of may be unknown";

static int look_in(const char *path, assay_group_files *found, assay_problems *unseen, assay_error *err)
{
    assay_store *store = NULL;
    int status = assay_store_open(path, &store, err);
    ASSAY_THEN(status, assay_groups_find(store, "", found));
    if (store)
        assay_problems_take_notes(unseen, store, -1, MAY_TELL);
    assay_store_close(store);
    return status;
}

/* Directories beside the trial, on this machine. */
static int look_beside(const char *location, assay_group_files *found, assay_problems *unseen)
{
    char parent[PATH_ROOM];
    assay_store *store = NULL;
    assay_names names = {0};
    if (strstr(location, "://") || snprintf(parent, sizeof parent, "%s/..", location) >= (int)sizeof parent)
        return ASSAY_OK;
    int status = assay_store_open(parent, &store, NULL);
    ASSAY_THEN(status, assay_store_list(store, "", &names, NULL));
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++)
        if (assay_groups_may_be_in(names.name[i]))
            status = assay_groups_find(store, names.name[i], found);
    if (store)
        assay_problems_take_notes(unseen, store, -1, MAY_TELL);
    assay_names_release(&names);
    assay_store_close(store);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

static int look(const char *location, const char *place, assay_group_files *found, assay_problems *unseen,
                assay_error *err)
{
    if (place)
        return look_in(place, found, unseen, err);
    int status = look_in(location, found, unseen, NULL);
    if (status != ASSAY_ENOMEM && found->of_dumps.count + found->of_traces.count == 0)
        status = look_beside(location, found, unseen);
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
    assay_buf unheard = ASSAY_BUF(SIZE_MAX);
    assay_topology_draft d = {.preset = preset};
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
    ASSAY_THEN(status, assay_said_put_topology(&said, out, why, &none_said));
    assay_problems_release(&none_said);
    assay_said_release(&said);
    return status;
}

/* Where groups are looked for, and for whom. */
typedef struct groups_asked {
    const char *location;       /* of the trial */
    const char *place;          /* a directory; NULL: the trial, and what lies beside it under such names as "traces" */
    const assay_catalog *trial; /* with the workers; NULL: all ranks that the groups have */
    assay_problems *unseen;     /* gets what could not be looked at, or read */
    const char *preset;         /* NULL: Megatron-LM's where the names of the groups are its own, else none */
} groups_asked;

/* Looks for groups in files (topology/group_files.h). Appends a topology.json for the workers, with a preset also
 * entries for tensors; nothing where no group tells an axis. `why` gets a line for each thing found. ASSAY_ENOTFOUND:
 * the place is not there; ASSAY_ENOMEM. */
static int make_of_groups(const groups_asked *asked, assay_buf *out, assay_buf *why, assay_error *err)
{
    assay_group_files found;
    int status = assay_group_files_init(&found);
    assay_groups *groups = &found.of_dumps;
    ASSAY_THEN(status, look(asked->location, asked->place, &found, asked->unseen, err));
    ASSAY_THEN(status, assay_groups_add_all(groups, &found.of_traces));
    if (status == ASSAY_OK && found.dumps + found.traces > 0) {
        assay_put_format(why, "%zu groups in ", groups->count);
        assay_group_files_describe(&found, why);
        assay_put_u8(why, '\n');
    }
    if (status == ASSAY_OK && found.damaged > 0)
        assay_problems_add(asked->unseen, ASSAY_PROBLEM_READ, -1, "", -1, "%u file%s could not be read: %s; %s",
                           found.damaged, assay_plural(found.damaged), found.first, MAY_TELL);
    if (status == ASSAY_OK && groups->count > 0) {
        uint32_t ranks = 0;
        char **own = asked->trial ? NULL : name_workers(groups, &ranks);
        if (asked->trial)
            status = make(groups, asked->trial->worker, asked->trial->workers, asked->preset, out, why);
        else
            status = own ? make(groups, own, ranks, asked->preset, out, why) : ASSAY_ENOMEM;
        free_workers(own, ranks);
    }
    assay_group_files_release(&found);
    return status;
}

/* ---- topology ---- */

typedef struct topology_options {
    const char *file, *preset, *axes, *groups;
} topology_options;

static const assay_setting OPTIONS[] = {
    {"topology", ASSAY_SETTING_TEXT, offsetof(topology_options, file), "FILE",
     "Look at this file in place of the trial's own."},
    {"preset", ASSAY_SETTING_TEXT, offsetof(topology_options, preset), "NAME",
     "Make one for trainings of a kind: megatron, fsdp, deepspeed or hf-tp. Needs --axes, or process groups."},
    {"axes", ASSAY_SETTING_TEXT, offsetof(topology_options, axes), "LIST",
     "The mesh, outermost axis first: dp=2,tp=8."},
    {"groups", ASSAY_SETTING_TEXT, offsetof(topology_options, groups), "PATH",
     "Take the mesh from the process groups in flight-recorder dumps and traces in this directory."},
    {0}};

enum { AXIS_NAME = 32, SHOWN = 8 };

static int fail_axes(const char *list, assay_error *err)
{
    return assay_fail(
        err, ASSAY_EUSAGE,
        "topology: --axes: expected names and sizes, at most %d, outermost first, such as dp=2,tp=8, not \"%.80s\"",
        ASSAY_MESH_AXES, list);
}

/* "dp=2,tp=8" into the draft; the names are kept in `room`. */
static int parse_axes(const char *list, char room[ASSAY_MESH_AXES][AXIS_NAME], assay_topology_draft *d,
                      assay_error *err)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, "=,");
        char *end = NULL;
        if (at[length] != '=' || length == 0 || length >= AXIS_NAME || d->axes == ASSAY_MESH_AXES)
            return fail_axes(list, err);
        memcpy(room[d->axes], at, length);
        room[d->axes][length] = '\0';
        const long size = strtol(at + length + 1, &end, 10);
        if (end == at + length + 1 || size < 1 || size > INT32_MAX || (*end && *end != ','))
            return fail_axes(list, err);
        d->axis[d->axes].name = room[d->axes];
        d->axis[d->axes++].size = (uint32_t)size;
        at = *end ? end + 1 : end;
    }
    return d->axes > 0 ? ASSAY_OK : fail_axes(list, err);
}

/* The JSON of a preset. */
static int make_preset(const topology_options *o, assay_buf *out, assay_error *err)
{
    char room[ASSAY_MESH_AXES][AXIS_NAME];
    assay_topology_draft d = {.mesh = "dense", .preset = o->preset};
    int status = parse_axes(o->axes, room, &d, err);
    if (status == ASSAY_OK)
        assay_topology_put_draft(&d, out);
    assay_put_u8(out, '\0');
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

static void list_unknown(const assay_trial_files *files, const assay_relations *r)
{
    const assay_topology *t = files->catalog.topology;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < r->tensors; i++) {
        const assay_relation_class *c = assay_relation_of(r, i);
        char axes[256] = "";
        size_t length, used = 0;
        if (!c->unknown || shown == SHOWN)
            continue;
        for (uint32_t a = 0; a < t->mesh[c->mesh].axes && used < sizeof axes; a++)
            if (c->kind[a] == ASSAY_AXIS_UNKNOWN || c->kind[a] == ASSAY_AXIS_PEERS)
                used += (size_t)snprintf(axes + used, sizeof axes - used, "%s%s%s", used ? ", " : "",
                                         t->mesh[c->mesh].axis[a].name,
                                         c->kind[a] == ASSAY_AXIS_PEERS ? " (but that they are peers)" : "");
        assay_log_note("  %.200s: nothing is said of %s", assay_dict_name(files->tensors, i, &length), axes);
        shown++;
    }
}

/* What the topology makes of the tensors. */
static int say_what(const assay_trial_files *files)
{
    const assay_topology *t = files->catalog.topology;
    assay_relations *r = NULL;
    uint32_t split = 0, sum = 0, unknown = 0;
    ASSAY_TRY(assay_relations_new(t, &files->layouts, files->tensors, &r));
    for (uint32_t i = 0; i < r->tensors; i++) {
        const assay_relation_class *c = assay_relation_of(r, i);
        split += c->split;
        sum += c->sum;
        unknown += c->unknown;
    }
    assay_log_note("%u workers have %u tensors: %u are put together of pieces, %u are sums, of %u an axis is unknown%s",
                   files->catalog.workers, r->tensors, split, sum, unknown, unknown ? ":" : "");
    list_unknown(files, r);
    if (unknown > SHOWN)
        assay_log_note("  and %u more", unknown - SHOWN);
    assay_relations_free(r);
    return ASSAY_OK;
}

/* Groups were asked for, and tell nothing. */
static int no_groups(const topology_options *o, const char *location, const assay_buf *why,
                     const assay_problems *unseen, assay_error *err)
{
    const char *unread = assay_problems_unread(unseen);
    if (o->preset)
        return assay_fail(err, unread ? ASSAY_EIO : ASSAY_EUSAGE,
                          "topology: --preset %s: say by --axes how the workers are laid out: --axes dp=2,tp=8 (no "
                          "process groups that tell it were found at %.100s)%s%.200s",
                          o->preset, o->groups ? o->groups : location, unread ? "; " : "", unread ? unread : "");
    return assay_fail(err, unread ? ASSAY_EIO : ASSAY_EUSAGE, "topology: --groups %.100s: %s%s%.200s", o->groups,
                      why->size > 0 ? "the groups there tell no axis: use --axes with --preset"
                                    : "no flight-recorder dump and no trace there names process groups",
                      unread ? "; " : "", unread ? unread : "");
}

/* A line for people for each line of a text. */
static void say_lines(const char *text, size_t size)
{
    for (size_t at = 0, n; at < size; at += n + 1) {
        const char *end = memchr(text + at, '\n', size - at);
        n = end ? (size_t)(end - (text + at)) : size - at;
        if (n > 0)
            assay_log_note("  %.*s", (int)n, text + at);
    }
}

static int put_known(const assay_trial_files *files, const char *location, const char *origin, const assay_buf *why,
                     assay_buf *out)
{
    const assay_topology *t = files->catalog.topology;
    assay_put_bytes(out, t->text, t->size);
    if (t->size > 0 && t->text[t->size - 1] != '\n')
        assay_put_u8(out, '\n');
    assay_log_note("%s: %s", location, origin);
    if (why->size > 0)
        say_lines((const char *)why->data, why->size);
    else if (t->why)
        say_lines(t->why, strlen(t->why));
    return say_what(files);
}

static int put_unknown(const assay_trial_files *files, const char *location, assay_buf *out, assay_error *err)
{
    const char *unread = assay_problems_unread(&files->problems);
    if (files->catalog.workers == 0)
        return assay_fail(err, ASSAY_EUSAGE, "%s: no worker saved tensors in it, and a topology is of tensors%s%s",
                          location, unread ? "; " : "", unread ? unread : "");
    if (files->catalog.workers > 1)
        assay_log_note("%s: nothing says which of its %u workers has which piece: fill in \"meshes\" and \"tensors\", "
                       "and save it as %s/topology.json",
                       location, files->catalog.workers, location);
    else
        assay_log_note("%s: one worker has all of every tensor: it needs no topology", location);
    return assay_topology_put_unknown(files->catalog.worker, files->catalog.workers, out);
}

/* What was lost, or could not be looked at, may have said more. */
static void name_problems(const char *location, const assay_problems *problems, bool *lost)
{
    cli_warn_problems(location, problems);
    *lost = *lost || problems->losses > 0;
}

/* Prints what groups alone say, where there are no tensors. */
static int show_groups(const topology_options *o, const char *location, assay_problems *unseen, assay_buf *out)
{
    assay_buf why = ASSAY_BUF(SIZE_MAX);
    assay_error unheard = {""};
    const size_t before = out->size;
    int status = make_of_groups(&(groups_asked){location, o->groups, NULL, unseen, o->preset}, out, &why, &unheard);
    const bool made = out->size > before;
    if (status == ASSAY_OK && made) {
        assay_log_note("%s: not a trial, but the groups in which ranks communicated are there", location);
        say_lines((const char *)why.data, why.size);
    }
    assay_buf_release(&why);
    return status == ASSAY_OK && !made ? ASSAY_ENOTFOUND : status;
}

/* Prints the topology of a trial. `given` is one from elsewhere, or NULL. `unseen` gets what of groups could not be
 * looked at. */
static int show(const topology_options *o, const char *location, const char *given, assay_problems *unseen, bool *lost,
                assay_buf *out, assay_error *err)
{
    assay_trial_files files;
    assay_buf why = ASSAY_BUF(SIZE_MAX), groups = ASSAY_BUF(SIZE_MAX);
    int status = assay_trial_open_laid_out(location, given, &files, err);
    const bool is_none = status != ASSAY_OK && status != ASSAY_ENOMEM && status != ASSAY_EIO; /* and not one unread */
    if (status != ASSAY_OK)
        return !given && is_none && show_groups(o, location, unseen, out) == ASSAY_OK ? ASSAY_OK : status;
    if (!given &&
        (o->groups || o->preset || !files.catalog.topology || assay_topology_says_nothing(files.catalog.topology)))
        status = make_of_groups(
            &(groups_asked){location, o->groups, files.catalog.workers > 0 ? &files.catalog : NULL, unseen, o->preset},
            &groups, &why, err);
    const bool made = groups.size > 0;
    if (status == ASSAY_OK && !made && (o->groups || (o->preset && !given)))
        status = no_groups(o, location, &why, unseen, err);
    if (status == ASSAY_OK && made) {
        assay_put_u8(&groups, '\0');
        assay_trial_release(&files);
        status = assay_buf_status(&groups);
        ASSAY_THEN(status, assay_trial_open_laid_out(location, (const char *)groups.data, &files, err));
        if (status != ASSAY_OK)
            files = (assay_trial_files){0};
    }
    if (status == ASSAY_OK && files.catalog.topology)
        status = put_known(&files, location,
                           made        ? "made of the groups in which ranks communicate"
                           : o->preset ? "made for trainings of this kind; read it before you believe it"
                           : o->file   ? "from the file given"
                           : files.catalog.topology->derived ? "made of what the trial's files say"
                                                             : "from its topology.json",
                           &why, out);
    else if (status == ASSAY_OK)
        status = put_unknown(&files, location, out, err);
    if (status == ASSAY_OK) {
        assay_problems_take_notes(&files.problems, files.store, -1, "a worker may be left out for that");
        name_problems(location, &files.problems, lost);
    }
    assay_trial_release(&files);
    assay_buf_release(&why);
    assay_buf_release(&groups);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "%s: out of memory", location);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

static int topology(const cli_context *context, int argc, char **argv)
{
    topology_options options = {NULL};
    const char *location[1] = {NULL};
    size_t operands = 0;
    bool lost = false;
    assay_error err = {""};
    assay_buf out, preset;
    assay_problems unseen;
    int status = cli_options_parse(&cli_topology, argc, argv, &options, location, &operands, &err);
    if (status == ASSAY_OK && options.axes && !options.preset)
        status = assay_fail(&err, ASSAY_EUSAGE, "topology: --axes goes with --preset");
    if (status == ASSAY_OK && options.preset && options.file)
        status = assay_fail(&err, ASSAY_EUSAGE, "topology: --preset and --topology do not go together");
    if (status == ASSAY_OK && options.groups && (options.file || options.axes))
        status = assay_fail(&err, ASSAY_EUSAGE, "topology: --groups goes with neither --topology nor --axes");
    if (status == ASSAY_OK && options.preset && !assay_topology_has_preset(options.preset))
        status = assay_fail(&err, ASSAY_EUSAGE, "topology: --preset: there is no \"%.80s\"; there are %s",
                            options.preset, assay_topology_presets());
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    assay_buf_init(&out, SIZE_MAX);
    assay_buf_init(&preset, SIZE_MAX);
    assay_problems_init(&unseen);
    if (options.axes)
        status = make_preset(&options, &preset, &err);
    ASSAY_THEN(status, show(&options, location[0], options.axes ? (const char *)preset.data : options.file, &unseen,
                            &lost, &out, &err));
    if (status == ASSAY_OK)
        name_problems(options.groups ? options.groups : location[0], &unseen, &lost);
    assay_problems_release(&unseen);
    assay_buf_release(&preset);
    if (status == ASSAY_OK)
        return cli_finish(&out, lost ? CLI_LOSSES : CLI_DONE);
    assay_buf_release(&out);
    return cli_fail(status, &err);
}

const cli_command cli_topology = {
    "topology",
    "TRIAL",
    "Prints which worker has which piece of a trial's tensors, as a topology.json to edit, and what it makes of them.",
    OPTIONS,
    1,
    1,
    CLI_TRIALS | CLI_DOCUMENT | CLI_PAGED,
    topology};
