/* attach.c - see attach.h. */
#include "topology/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "topology/pieces.h"
#include "trial/trial_format.h"
#include "mesh/draft.h"

static const char OWN[] = "topology.json";

static int take(assay_catalog *catalog, const char *name, const assay_buf *text, bool derived, assay_error *err)
{
    assay_topology *t = NULL;
    int status = assay_topology_parse(name, text->data ? (const char *)text->data : "", text->size, &t, err);
    ASSAY_THEN(status, assay_topology_place(t, name, catalog->worker, catalog->workers, err));
    if (status != ASSAY_OK) {
        assay_topology_free(t);
        return status;
    }
    t->derived = derived;
    assay_topology_free(catalog->topology);
    catalog->topology = t;
    if (!derived && t->world > catalog->expected_workers)
        catalog->expected_workers = t->world;
    return ASSAY_OK;
}

static int take_given(assay_catalog *catalog, const char *given, assay_error *err)
{
    assay_buf text = ASSAY_BUF(ASSAY_TOPOLOGY_MOST);
    const bool inside = given[strspn(given, " \t\r\n")] == '{';
    int status = ASSAY_OK;
    if (inside)
        assay_put_bytes(&text, given, strlen(given));
    else
        status = assay_file_read(given, ASSAY_TOPOLOGY_MOST, &text, err);
    ASSAY_THEN(status, take(catalog, inside ? "topology" : given, &text, false, err));
    assay_buf_release(&text);
    return status;
}

/* The file in the trial's root. 1: there is none. */
static int take_own(assay_store *store, assay_catalog *catalog, assay_error *err)
{
    char name[512];
    assay_buf text;
    const int there = assay_store_exists(store, OWN, err);
    assay_store_stamp stamp;
    if (there < 0)
        return there;
    if (there == 0 &&
        assay_store_stamp_of(store, OWN, &stamp, NULL) != 1) /* a pipe or directory is one that is wrong */
        return 1;
    assay_buf_init(&text, ASSAY_TOPOLOGY_MOST);
    snprintf(name, sizeof name, "%.400s/%s", assay_store_location(store), OWN);
    int status = assay_store_read(store, OWN, ASSAY_TOPOLOGY_MOST, &text, err);
    ASSAY_THEN(status, take(catalog, name, &text, false, err));
    assay_buf_release(&text);
    return status;
}

/* What was made of a trial's own files must not stand in the way of its evaluation: what is wrong in it is a problem,
 * and of no axis anything is known then, for without a topology pieces would be taken for copies. */
static int take_made(assay_catalog *catalog, assay_buf *text, assay_buf *why, assay_error *err)
{
    static const char NAME[] = "the topology made of what the trial says";
    assay_error wrong = {""};
    int status = take(catalog, NAME, text, true, &wrong);
    if (status == ASSAY_EJOB) {
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_TOPOLOGY, -1, "", -1,
                           "%s; no tensors are put together, and each worker's stand by themselves", wrong.text);
        assay_buf_clear(text);
        status = assay_topology_put_unknown(catalog->worker, catalog->workers, text);
        ASSAY_THEN(status, take(catalog, NAME, text, true, &wrong));
    }
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s", wrong.text);
    assay_put_u8(why, '\0');
    catalog->topology->why = assay_buf_status(why) == ASSAY_OK ? assay_copy_text((const char *)why->data) : NULL;
    return catalog->topology->why ? ASSAY_OK : ASSAY_ENOMEM;
}

/* What the formats know: the first one that knows anything. */
static int take_derived(assay_store *store, assay_catalog *catalog, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < catalog->format_count && status == ASSAY_OK && !catalog->topology; i++) {
        const assay_trial_format *format = assay_format_of(catalog->formats[i]);
        assay_buf text, why;
        assay_buf_init(&text, ASSAY_TOPOLOGY_MOST);
        assay_buf_init(&why, ASSAY_TOPOLOGY_MOST);
        if (format->derive)
            status = format->derive(store, catalog, &text, &why, &catalog->problems);
        if (status == ASSAY_EBUDGET) {
            assay_problems_add(&catalog->problems, ASSAY_PROBLEM_TOPOLOGY, -1, "", -1,
                               "what is said of pieces takes more than half of --memory, or makes a topology of more "
                               "than %d MiB; no tensors are put together, and each worker's stand by themselves",
                               ASSAY_TOPOLOGY_MOST >> 20);
            assay_buf_clear(&text);
            assay_buf_clear(&why);
            status = assay_topology_put_unknown(catalog->worker, catalog->workers, &text);
        }
        if (status == ASSAY_OK && text.size > 0)
            status = take_made(catalog, &text, &why, err);
        assay_buf_release(&text);
        assay_buf_release(&why);
    }
    return status;
}

/* ---- process groups ---- */

/* Who is where is known from the groups in which ranks communicate, and not what they have. So workers along data-
 * parallel axes are peers, and of other axes nothing is said. */
static const char *const MAY_COPY[] = {"dp", "ddp", "dp_replicate", "cp", NULL};
static const char *const OWN_DATA[] = {"dp", "ddp", "dp_replicate", "dp_shard", "fsdp", NULL};
/* Labels and inputs, as DuplicateShard knows them. */
static const char DATA[] = "labels?$|[Ll]oss_input_1$|inputs?$|images?$|(Net|Model)_input_0$|^(?!\\w*Loss)[A-Z]"
                           "[A-Za-z0-9]*_input_0$";

static bool is_in(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

/* Adds an entry for the axes of a list that the mesh has, if there are any. */
static void put_entry(assay_said *said, const char *match, const assay_rank_mesh *mesh, const char *key,
                      const char *const *list)
{
    bool any = false;
    for (uint32_t a = 0; a < mesh->axes; a++)
        if (mesh->axis[a].size > 1 && is_in(mesh->axis[a].name, list)) {
            if (!any) {
                assay_put_format(&said->entries, "\n  {\"match\": ");
                assay_json_put_text(&said->entries, match);
                assay_put_format(&said->entries, ", \"mesh\": \"%s\", \"%s\": [", mesh->name, key);
            }
            assay_put_format(&said->entries, "%s\"%s\"", any ? ", " : "", mesh->axis[a].name);
            any = true;
        }
    assay_put_format(&said->entries, "%s", any ? "]}," : "");
    said->entry_count += any;
}

/* Entries, where workers along some axis have different pieces: else they count as they do without a topology. */
static void put_peers(assay_said *said, const assay_rank_layout *ranks)
{
    static const char *const EXPERT_COPIES[] = {"edp", NULL};
    bool tells = false;
    for (uint32_t a = 0; ranks->meshes > 0 && a < ranks->mesh[0].axes; a++)
        tells = tells || (ranks->mesh[0].axis[a].size > 1 && !is_in(ranks->mesh[0].axis[a].name, MAY_COPY));
    if (!tells)
        return;
    put_entry(said, DATA, &ranks->mesh[0], "own", OWN_DATA);
    for (uint32_t m = 1; m < ranks->meshes; m++)
        put_entry(said, "(^|\\.)(local_)?experts\\.", &ranks->mesh[m], "peers", EXPERT_COPIES);
    put_entry(said, ".", &ranks->mesh[0], "peers", MAY_COPY);
}

/* Makes a topology of groups for workers that are called by their ranks; *out stays NULL where groups do not tell which
 * of them have different pieces. 0 or ASSAY_ENOMEM. */
static int make_of_groups(const assay_groups *groups, char *const *worker, uint32_t workers, assay_topology **out)
{
    assay_said said;
    assay_rank_layout ranks = {0};
    assay_problems none; /* groups say nothing of tensors */
    assay_buf text, why, unheard;
    assay_problems_init(&none);
    assay_buf_init(&text, ASSAY_TOPOLOGY_MOST);
    assay_buf_init(&why, ASSAY_TOPOLOGY_MOST);
    assay_buf_init(&unheard, ASSAY_TOPOLOGY_MOST);
    int status = assay_said_init(&said, worker, workers, workers);
    const assay_groups own = said.groups;
    said.groups = *groups;
    ASSAY_THEN(status, assay_groups_lay_out(groups, &ranks, &unheard));
    if (status == ASSAY_OK) {
        put_peers(&said, &ranks);
        status = assay_said_put_topology(&said, &text, &why, &none);
    }
    if (status == ASSAY_OK && text.size > 0)
        status = assay_topology_parse("process groups", text.data, text.size, out, NULL);
    if (status == ASSAY_OK && *out)
        status = assay_topology_place(*out, "process groups", worker, workers, NULL);
    assay_put_u8(&why, '\0');
    if (status == ASSAY_OK && *out && assay_buf_status(&why) == ASSAY_OK)
        (*out)->why = assay_copy_text((const char *)why.data);
    if (status != ASSAY_OK) {
        assay_topology_free(*out);
        *out = NULL;
    }
    said.groups = own;
    assay_said_release(&said);
    assay_rank_layout_release(&ranks);
    assay_problems_release(&none);
    assay_buf_release(&text);
    assay_buf_release(&why);
    assay_buf_release(&unheard);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK; /* what else is wrong makes no topology */
}

/* Are all workers called by their ranks alone, as worker_3 and rank3? */
static bool are_ranks(const assay_catalog *catalog)
{
    for (uint32_t w = 0; w < catalog->workers; w++) {
        const char *name = catalog->worker[w];
        name += strncmp(name, "worker", 6) == 0 ? 6 : strncmp(name, "rank", 4) == 0 ? 4 : 0;
        name += name != catalog->worker[w] && (*name == '_' || *name == '-');
        if (name == catalog->worker[w] || *name == '\0' || name[strspn(name, "0123456789")] != '\0')
            return false;
    }
    return true;
}

/* What there is of dumps and of traces, as one: where they contradict each other, dumps count, for they name all groups
 * that a rank is in. */
static int settle_groups(const assay_group_files *files, assay_catalog *catalog, bool ranks, assay_topology **out)
{
    char *const *worker = ranks ? catalog->worker : NULL;
    const uint32_t workers = ranks ? catalog->workers : 0;
    assay_topology *of_traces = NULL;
    assay_buf clause;
    assay_groups all = {0};
    assay_buf_init(&clause, ASSAY_TOPOLOGY_MOST);
    int status = make_of_groups(&files->of_dumps, worker, workers, out);
    ASSAY_THEN(status, make_of_groups(&files->of_traces, worker, workers, &of_traces));
    const bool both = *out && of_traces;
    if (status == ASSAY_OK && both &&
        assay_topology_differs(*out, of_traces, "flight-recorder dumps", "traces", worker, &clause))
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_GROUPS, -1, "", -1, "%.*s: the dumps count",
                           (int)clause.size, (const char *)clause.data);
    else if (status == ASSAY_OK && files->of_traces.count > 0) {
        assay_topology *joined = NULL;
        status = assay_groups_init(&all);
        ASSAY_THEN(status, assay_groups_add_all(&all, &files->of_dumps));
        ASSAY_THEN(status, assay_groups_add_all(&all, &files->of_traces));
        ASSAY_THEN(status, make_of_groups(&all, worker, workers, &joined));
        if (joined || !*out) {
            assay_topology_free(*out);
            *out = joined;
        }
        if (!*out) {
            *out = of_traces;
            of_traces = NULL;
        }
    }
    assay_groups_release(&all);
    assay_topology_free(of_traces);
    assay_buf_release(&clause);
    return status;
}

/* Does the run say another size of an axis, or of the world, than groups do? Appends that as a clause. */
static bool run_differs(const assay_catalog *catalog, const assay_topology *t, const char *theirs, assay_buf *out)
{
    static const struct {
        const char *fact, *axis;
    } said[] = {{"config.tensor_model_parallel_size", "tp"},
                {"config.pipeline_model_parallel_size", "pp"},
                {"config.context_parallel_size", "cp"},
                {"config.expert_model_parallel_size", "ep"}};
    const uint64_t run = catalog->facts.run_workers ? catalog->facts.run_workers : catalog->expected_workers;
    if (run != t->world) {
        assay_put_format(out, "the trial is of %llu workers, and of %u by %s", (unsigned long long)run, t->world,
                         theirs);
        return true;
    }
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *fact = assay_run_fact_of(&catalog->facts, said[i].fact);
        const unsigned long size = fact ? strtoul(fact, NULL, 10) : 0;
        for (uint32_t m = 0; size > 0 && m < t->meshes; m++) {
            const uint32_t a = assay_mesh_axis(&t->mesh[m], said[i].axis);
            if (a < t->mesh[m].axes && t->mesh[m].axis[a].size != size) {
                assay_put_format(out, "the axis %s has %lu places by the run's settings, and %u by %s", said[i].axis,
                                 size, t->mesh[m].axis[a].size, theirs);
                return true;
            }
        }
    }
    return false;
}

/* Takes the topology that process groups in the trial's dumps and traces tell, where nothing else tells one; else says
 * where they contradict it. */
static int take_groups(assay_catalog *catalog, const assay_group_files *files)
{
    const assay_topology *have = catalog->topology;
    const bool stronger = have && !assay_topology_says_nothing(have), ranks = are_ranks(catalog);
    assay_topology *made = NULL;
    assay_buf clause, source;
    assay_buf_init(&clause, ASSAY_TOPOLOGY_MOST);
    assay_buf_init(&source, ASSAY_TOPOLOGY_MOST);
    int status = settle_groups(files, catalog, ranks, &made);
    assay_put_format(&source, "process groups in ");
    assay_group_files_describe(files, &source);
    assay_put_u8(&source, '\0');
    ASSAY_THEN(status, assay_buf_status(&source));
    const char *theirs = (const char *)source.data;
    if (status == ASSAY_OK && made) {
        made->derived = true;
        const bool differs =
            stronger ? assay_topology_differs(have, made,
                                              have->derived ? "what the trial's files say" : "the topology given",
                                              theirs, catalog->worker, &clause)
                     : run_differs(catalog, made, theirs, &clause);
        if (differs)
            assay_problems_add(&catalog->problems, ASSAY_PROBLEM_GROUPS, -1, "", -1, "%.*s: the former counts",
                               (int)clause.size, (const char *)clause.data);
        else if (!stronger && ranks) {
            assay_topology_free(catalog->topology);
            catalog->topology = made;
            made = NULL;
        }
    }
    assay_topology_free(made);
    assay_buf_release(&clause);
    assay_buf_release(&source);
    return status;
}

static int look_at_groups(assay_store *store, assay_catalog *catalog, assay_group_files *seen)
{
    assay_group_files own = {0};
    assay_group_files *files = seen ? seen : &own;
    int status = catalog->workers > 1 ? assay_groups_find_own(store, catalog, files) : ASSAY_OK;
    if (status == ASSAY_OK && files->of_dumps.count + files->of_traces.count > 0)
        status = take_groups(catalog, files);
    assay_group_files_release(&own);
    return status;
}

static const char *const OWN_NAMES[] = {OWN, NULL};

/* Is there a name that is damaged, or may be? */
static bool has_damaged_own(const assay_names *top)
{
    assay_problems found;
    assay_problems_init(&found);
    assay_problems_name_damaged(&found, top, "", OWN_NAMES);
    const bool has = found.total > 0 || found.status != ASSAY_OK;
    assay_problems_release(&found);
    return has;
}

/* Names a file of the root that stands where the trial's own topology should. 0 or ASSAY_ENOMEM. */
static int name_own(assay_store *store, assay_catalog *catalog, assay_error *err)
{
    assay_names top;
    if (!assay_store_ask_root(store, ASSAY_ASKS_TOPOLOGY, has_damaged_own))
        return ASSAY_OK;
    const int status = assay_store_list_root(store, &top, NULL);
    if (status == ASSAY_OK)
        assay_problems_name_damaged(&catalog->problems, &top, "", OWN_NAMES);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory", assay_store_location(store))
                                  : ASSAY_OK;
}

int assay_topology_attach(assay_store *store, const char *given, assay_group_files *seen, assay_catalog *catalog,
                          assay_error *err)
{
    int status = given ? take_given(catalog, given, err) : take_own(store, catalog, err);
    if (status == 1 && (status = name_own(store, catalog, err)) == ASSAY_OK)
        status = take_derived(store, catalog, err);
    if (status == ASSAY_OK && look_at_groups(store, catalog, seen) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while looking for process groups",
                            assay_store_location(store));
    if (given)
        return status;
    assay_problems_take_notes(&catalog->problems, store, -1, "which worker has which piece may be unknown without it");
    if (status == ASSAY_OK && catalog->problems.status != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while looking for its topology",
                          assay_store_location(store));
    return status == ASSAY_OK ? assay_store_listed_whole(store, err) : status;
}
