/* trials.c - the trials of a job: from its file, from the command line, and from patterns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/storage.h"
#include "base/fault.h"
#include "job/job_internal.h"
#include "s3/s3.h"
#include "trial/runs.h"

/* Makes a location plain where two spellings are certainly the same: "./runs//a/" and "file://runs/a" are "runs/a".
 * The caller frees it. ".." stays, as a link may stand before it. */
static char *plain_path(const char *path)
{
    const char *scheme = strstr(path, "://");
    if (job_is_in_s3(path)) { /* where "a//b" is another place than "a/b" */
        size_t length = strlen(path);
        return assay_copy_bytes_as_text(path, length - (path[length - 1] == '/' && path[length - 2] != '/'));
    }
    if (strncmp(path, "file://", 7) == 0) {
        path += 7;
        scheme = NULL;
    }
    char *plain = assay_alloc(strlen(path) + 2);
    if (!plain)
        return NULL;
    size_t used = 0;
    if (scheme) {
        used = (size_t)(scheme - path) + 3;
        memcpy(plain, path, used);
        path += used;
    } else if (*path == '/') {
        plain[used++] = '/';
    }
    size_t root = used;
    while (*path) {
        size_t part = strcspn(path, "/");
        if (part > 0 && !(part == 1 && *path == '.')) {
            if (used > root)
                plain[used++] = '/';
            memcpy(plain + used, path, part);
            used += part;
        }
        path += part + (path[part] == '/');
    }
    if (used == 0)
        plain[used++] = '.';
    plain[used] = '\0';
    return plain;
}

static const char *last_part(const char *plain)
{
    const char *slash = strrchr(plain, '/');
    return slash && slash[1] ? slash + 1 : plain;
}

/* Makes the name of a trial that is given none: the last part of its path, and where another trial has that, as the
 * logs of many runs have, the last two; else a number. */
static char *name_free(const job_names *names, const char *plain)
{
    const char *last = last_part(plain), *two = last > plain + 1 ? last - 1 : plain;
    while (two > plain && two[-1] != '/')
        two--;
    const bool use =
        job_name_taken(names, last) && two < last && *two != '/' && *two != '.' && !job_name_taken(names, two);
    return use ? assay_copy_text(two) : job_name_free(names, last);
}

char *assay_job_trial_name(const char *path)
{
    char *plain = plain_path(path), *name = plain ? assay_copy_text(last_part(plain)) : NULL;
    size_t length = name ? strlen(name) : 0;
    if (name && assay_is_packed_name(name, length)) /* a packed trial is called as its directory was */
        name[length - 3] = '\0';
    free(plain);
    return name;
}

static const char *trial_name_at(const void *list, size_t i)
{
    return ((const assay_job_trial *)list)[i].name;
}

/* Finds the number of the trial with the same location, or trial_count. */
static size_t find_location(const assay_job *job, const char *plain)
{
    for (size_t i = 0; i < job->trial_count; i++)
        if (strcmp(plain, job->trials[i].plain) == 0)
            return i;
    return job->trial_count;
}

/* Appends a trial; room for it is there. `name` is NULL when none was given; of `options` the trial gets a share.
 * `status`: that of a fault, by where the trial was named. */
static int add_trial(const job_reader *r, const char *place, int status, assay_job *job, const char *path,
                     const char *name, assay_trial_options *options)
{
    const bool remote = job_is_in_s3(path) || assay_s3_place_is_foreign(path);
    assay_error cause = {""};
    /* Keys in a URL would get into reports and logs. */
    const int keys = remote ? assay_s3_place_refuse_keys(path, &cause) : ASSAY_OK;
    if (keys != ASSAY_OK && status == ASSAY_EJOB)
        return assay_fail(r->err, status, "%s: %s: %s", r->file, place, cause.text);
    if (keys != ASSAY_OK)
        return assay_fail(r->err, keys, "%s", cause.text);
    char *plain = plain_path(path);
    if (!plain)
        return job_no_memory(r);
    const job_names names = {job->trials, job->trial_count, trial_name_at};
    size_t twin = find_location(job, plain);
    bool named_twice = name && job_name_taken(&names, name);
    if (twin < job->trial_count || named_twice) {
        free(plain);
        if (status == ASSAY_EJOB)
            return job_fail(r, place, "the trial %s \"%.200s\" is listed twice", named_twice ? "name" : "path",
                            named_twice ? name : path);
        return assay_fail(r->err, status, "%s: %s: the trial %s \"%.200s\" is listed twice", r->file, place,
                          named_twice ? "name" : "path", named_twice ? name : path);
    }
    assay_job_trial *trial = &job->trials[job->trial_count];
    trial->path = assay_copy_text(path);
    trial->named = name != NULL;
    trial->name = name ? assay_copy_text(name) : name_free(&names, plain);
    trial->plain = plain;
    if (trial->path && trial->name) {
        trial->options = assay_trial_options_share(options);
        job->trial_count++;
        return ASSAY_OK;
    }
    free(trial->path);
    free(trial->name);
    free(trial->plain);
    return job_no_memory(r);
}

void job_release_trials(assay_job *job)
{
    for (size_t i = 0; i < job->trial_count; i++) {
        free(job->trials[i].path);
        free(job->trials[i].name);
        free(job->trials[i].plain);
        assay_trial_options_release(job->trials[i].options);
    }
    free(job->trials);
    job->trials = NULL;
    job->trial_count = 0;
}

const assay_setting job_trial_settings[] = {
    {.name = "path",
     .kind = ASSAY_SETTING_TEXT,
     .at = offsetof(job_trial_entry, path),
     .required = true,
     .help = "a path, a pattern, or a place in S3"},
    {.name = "name",
     .kind = ASSAY_SETTING_TEXT,
     .at = offsetof(job_trial_entry, name),
     .help = "what reports call the trial; otherwise the last part of the path, or the last two where another "
             "trial has that name"},
    {.name = "steps",
     .kind = ASSAY_SETTING_ITEM,
     .at = offsetof(job_trial_entry, steps),
     .help = "of checkpoints: patterns of names whose group 1 is the step"},
    {.name = "void",
     .kind = ASSAY_SETTING_ITEM,
     .at = offsetof(job_trial_entry, void_types),
     .help = "of NumPy files: the dtype of void elements, such as V2: bfloat16"},
    {.name = "topology",
     .kind = ASSAY_SETTING_ITEM,
     .at = offsetof(job_trial_entry, topology),
     .help = "which worker has which piece: the path of a topology.json, or the object itself (topology.schema.json)"},
    {.name = "format",
     .kind = ASSAY_SETTING_TEXT,
     .at = offsetof(job_trial_entry, log_kind),
     .help = "of logs of several kinds at one place the one to read, such as tb"},
    {0}};

static int read_trial(const job_reader *r, size_t i, const cJSON *item, assay_job *job)
{
    char place[ASSAY_JOB_PLACE];
    job_trial_entry entry;
    snprintf(place, sizeof place, "trials[%zu]", i);
    if (cJSON_IsString(item)) {
        if (item->valuestring[0] == '\0')
            return job_fail(r, place, "the path is empty");
        return add_trial(r, place, ASSAY_EJOB, job, item->valuestring, NULL, NULL);
    }
    if (!cJSON_IsObject(item))
        return job_fail(r, place, "expected a path, or an object with \"path\" and \"name\"");
    int status = job_read(r, place, job_trial_settings, item, &entry);
    ASSAY_THEN(status, add_trial(r, place, ASSAY_EJOB, job, entry.path, entry.name, NULL));
    return status == ASSAY_OK ? job_read_trial_options(r, place, &entry, &job->trials[job->trial_count - 1]) : status;
}

int job_read_trials(const job_reader *r, const cJSON *list, assay_job *job)
{
    if (!list)
        return ASSAY_OK;
    job->trials = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list), sizeof *job->trials);
    if (!job->trials)
        return job_no_memory(r);
    int status = ASSAY_OK;
    size_t i = 0;
    for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next)
        status = read_trial(r, i++, item, job);
    return status;
}

/* Splits "NAME=PATH": what stands before the first '=' is a name unless it has a '/' in it ("runs/lr=0.1" is a
 * path). */
static int split_trial(const job_reader *r, const char *text, char **name, const char **path)
{
    size_t head = strcspn(text, "=/");
    *name = NULL;
    *path = text;
    if (text[head] != '=' || head == 0)
        return ASSAY_OK;
    *path = text + head + 1;
    *name = assay_copy_bytes_as_text(text, head);
    return *name ? ASSAY_OK : job_no_memory(r);
}

/* Finds what the job says of how the trial at a path is to be read; NULL: nothing. So a trial of the command line is
 * read as the job says. */
static assay_trial_options *options_for(const assay_job *job, const char *path)
{
    char *plain = plain_path(path);
    const size_t number = plain ? find_location(job, plain) : job->trial_count;
    free(plain);
    return number < job->trial_count ? job->trials[number].options : NULL;
}

/* Replaces the job's trials as a whole, and only when all are right. */
int assay_job_set_trials(assay_job *job, const char *const *paths, size_t count, assay_error *err)
{
    const job_reader r = {"the command line", err, NULL, 0};
    if (count > ASSAY_JOB_TRIALS)
        return assay_fail(err, ASSAY_EUSAGE, "the command line: more than %d trials", ASSAY_JOB_TRIALS);
    assay_job fresh = {.trials = assay_alloc_zeroed(count, sizeof *fresh.trials)};
    int status = fresh.trials ? ASSAY_OK : job_no_memory(&r);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        char *name = NULL;
        const char *path = NULL;
        status = split_trial(&r, paths[i], &name, &path);
        if (status == ASSAY_OK && path[0] == '\0')
            status = assay_fail(err, ASSAY_EUSAGE, "the command line: %.200s: the path is empty", paths[i]);
        ASSAY_THEN(status, add_trial(&r, paths[i], ASSAY_EUSAGE, &fresh, path, name, options_for(job, path)));
        free(name);
    }
    if (status != ASSAY_OK) {
        job_release_trials(&fresh);
        return status;
    }
    job_release_trials(job);
    job->trials = fresh.trials;
    job->trial_count = fresh.trial_count;
    return ASSAY_OK;
}

int assay_job_read_only(assay_job *job, uint8_t only)
{
    for (size_t i = 0; i < job->trial_count; i++) {
        assay_trial_options **options = &job->trials[i].options;
        if (!*options)
            *options = assay_trial_options_new();
        ASSAY_HAVE(*options);
        (*options)->only = only;
    }
    return ASSAY_OK;
}

/* ---- patterns ---- */

/* A file or directory of that very name is no pattern. */
static bool is_pattern(const char *path)
{
    struct stat there;
    return strpbrk(path, "*?[") && (job_is_in_s3(path) || (!strstr(path, "://") && lstat(path, &there) != 0));
}

/* Tells whether one of the job's trials lies at this path. */
static bool has_location(const assay_job *job, const char *path)
{
    char *plain = plain_path(path);
    bool there = plain && find_location(job, plain) < job->trial_count;
    free(plain);
    return there;
}

static int put_trial(const job_reader *r, assay_job *to, const char *path, const char *name,
                     assay_trial_options *options)
{
    if (to->trial_count == ASSAY_JOB_TRIALS)
        return job_fail(r, "trials", "more than %d trials", ASSAY_JOB_TRIALS);
    return add_trial(r, "trials", ASSAY_EJOB, to, path, name, options);
}

/* Adds a run of a place, called as the place calls it. */
static int add_run(const job_reader *r, assay_job *to, const assay_trial_run *run, const char *name)
{
    const size_t number = to->trial_count;
    const job_names names = {to->trials, number, trial_name_at};
    int status = add_trial(r, "trials", ASSAY_EJOB, to, run->path, name, run->options);
    char *own = status == ASSAY_OK && !name ? job_name_free(&names, run->name) : NULL;
    if (status != ASSAY_OK || name)
        return status;
    free(to->trials[number].name);
    to->trials[number].name = own;
    return own ? ASSAY_OK : job_no_memory(r);
}

static int put_located(const job_reader *r, assay_job *to, const char *path, const char *name,
                       assay_trial_options *options, bool *several);

/* Expands the pattern of one of the job's trials: adds what it finds, but for what the job has anyway. */
static int expand(const job_reader *r, const assay_job *job, const assay_job_trial *trial, assay_job *to)
{
    const char *name = trial->named ? trial->name : NULL;
    const bool in_s3 = job_is_in_s3(trial->path);
    job_places places = {NULL, 0, 0};
    bool several = false;
    int status = in_s3 ? job_glob_s3(r, trial->path, &places) : job_glob_files(r, trial->path, &places);
    if (status == ASSAY_OK && places.count == 0 && !in_s3) { /* a pattern over the runs of a log? */
        assay_trial_runs runs;
        status = assay_trial_runs_find(trial->path, trial->options, &runs, r->err);
        const bool found = runs.count > 0;
        assay_trial_runs_release(&runs);
        if (status == ASSAY_EUSAGE)
            status = ASSAY_EJOB;
        else if (status == ASSAY_OK && found)
            status = put_located(r, to, trial->path, name, trial->options, &several);
        if (status != ASSAY_OK || found) {
            job_places_release(&places);
            return status;
        }
    }
    const assay_json_place at =
        places.count == 0 ? assay_job_place_of_trial(job, trial->path) : (assay_json_place){0, 0};
    if (status == ASSAY_OK && at.line > 0)
        status = assay_fail(r->err, ASSAY_EJOB, "%s: line %zu, column %zu: the pattern \"%.200s\" matches no %s",
                            r->file, at.line, at.column, trial->path,
                            in_s3 ? "prefix that ends with a '/'" : "directory and no .h5 file");
    else if (status == ASSAY_OK && places.count == 0)
        status = job_fail(r, "trials", "the pattern \"%.200s\" matches no %s", trial->path,
                          in_s3 ? "prefix that ends with a '/'" : "directory and no .h5 file");
    else if (status == ASSAY_OK && places.count > 1 && name)
        status =
            job_fail(r, "trials", "the pattern \"%.200s\" matches %zu trials, which cannot all be called \"%.100s\"",
                     trial->path, places.count, name);
    for (size_t i = 0; status == ASSAY_OK && i < places.count; i++)
        if (!has_location(job, places.place[i]) && !has_location(to, places.place[i]))
            status = put_located(r, to, places.place[i], name, trial->options, &several);
    job_places_release(&places);
    return status;
}

/* Puts a trial, or those that its place holds. *several is set when there are others than the place itself. */
static int put_located(const job_reader *r, assay_job *to, const char *path, const char *name,
                       assay_trial_options *options, bool *several)
{
    assay_trial_runs runs;
    int status = assay_trial_runs_find(path, options, &runs, r->err);
    if (status == ASSAY_EUSAGE)
        status = ASSAY_EJOB;
    if (status == ASSAY_OK && runs.count == 0)
        status = put_trial(r, to, path, name, options);
    else if (status == ASSAY_OK && runs.count > 1 && name)
        status = job_fail(r, "trials", "\"%.200s\" holds %zu runs, which cannot all be called \"%.100s\"%s%.300s", path,
                          runs.count, name, runs.unread ? "; " : "", runs.unread ? runs.unread : "");
    *several = *several || runs.count > 0;
    for (size_t i = 0; status == ASSAY_OK && i < runs.count; i++) {
        if (to->trial_count == ASSAY_JOB_TRIALS)
            status = job_fail(r, "trials", "more than %d trials", ASSAY_JOB_TRIALS);
        else
            status = add_run(r, to, &runs.list[i], name);
    }
    assay_trial_runs_release(&runs);
    return status;
}

/* Called by the first rank alone, which looks at the file systems; assay_job_pack_trials() brings the result to the
 * others, so that all have the same trials. */
int assay_job_expand_trials(assay_job *job, assay_error *err)
{
    const job_reader r = {job->file ? job->file : "the job", err, NULL, 0};
    assay_job all = {.trials = assay_alloc_zeroed(ASSAY_JOB_TRIALS, sizeof *all.trials)};
    int status = all.trials ? ASSAY_OK : job_no_memory(&r);
    bool any = false;
    for (size_t i = 0; status == ASSAY_OK && i < job->trial_count; i++) {
        const assay_job_trial *trial = &job->trials[i];
        bool pattern = is_pattern(trial->path);
        any = any || pattern;
        status = pattern ? expand(&r, job, trial, &all)
                         : put_located(&r, &all, trial->path, trial->named ? trial->name : NULL, trial->options, &any);
    }
    if (status != ASSAY_OK || !any) {
        job_release_trials(&all);
        return status;
    }
    job_release_trials(job);
    job->trials = all.trials;
    job->trial_count = all.trial_count;
    return ASSAY_OK;
}

void assay_job_pack_trials(const assay_job *job, assay_buf *out)
{
    assay_put_u64(out, job->trial_count);
    for (size_t i = 0; i < job->trial_count; i++) {
        assay_put_text(out, job->trials[i].path);
        assay_put_text(out, job->trials[i].name);
        assay_trial_options_pack(job->trials[i].options, out);
    }
}

/* From another rank of the same run; lengths are checked all the same. */
int assay_job_unpack_trials(assay_job *job, assay_cursor *in, assay_error *err)
{
    const job_reader r = {job->file ? job->file : "the job", err, NULL, 0};
    uint64_t count = assay_get_count(in, 8);
    assay_job fresh = {.trials = assay_alloc_zeroed(count, sizeof *fresh.trials)};
    bool made = fresh.trials != NULL;
    for (uint64_t i = 0; made && i < count; i++) {
        assay_job_trial *trial = &fresh.trials[fresh.trial_count++];
        trial->path = assay_get_copy(in);
        trial->name = assay_get_copy(in);
        trial->plain = trial->path ? plain_path(trial->path) : NULL;
        made = trial->plain && trial->name && assay_trial_options_unpack(in, &trial->options) != ASSAY_ENOMEM;
    }
    if (!made || in->failed) {
        job_release_trials(&fresh);
        return made ? assay_fail(err, ASSAY_EINTERNAL, "the list of trials was damaged on its way between ranks")
                    : job_no_memory(&r);
    }
    job_release_trials(job);
    job->trials = fresh.trials;
    job->trial_count = fresh.trial_count;
    return ASSAY_OK;
}

int assay_job_set_topology(assay_job *job, const char *topology, assay_error *err)
{
    for (size_t i = 0; topology && i < job->trial_count; i++) {
        /* trials of one pattern share theirs */
        assay_trial_options *own = assay_trial_options_copy(job->trials[i].options);
        int status = own ? ASSAY_OK : ASSAY_ENOMEM;
        ASSAY_THEN(status, assay_trial_options_set_topology(own, topology));
        if (status != ASSAY_OK) {
            assay_trial_options_release(own);
            return assay_fail(err, ASSAY_ENOMEM, "out of memory");
        }
        assay_trial_options_release(job->trials[i].options);
        job->trials[i].options = own;
    }
    return ASSAY_OK;
}

/* "trials" may be a single trial in place of a list. */
assay_json_place assay_job_place_of_trial(const assay_job *job, const char *path)
{
    char place[ASSAY_JOB_PLACE] = "";
    cJSON *document = NULL;
    size_t i = 0;
    if (!job->text || assay_json_parse_commented("", job->text, job->text_size, &document, NULL) != ASSAY_OK)
        return (assay_json_place){0, 0};
    for (const cJSON *item = cJSON_GetObjectItemCaseSensitive(document, "trials"); item && !place[0];) {
        item = i == 0 && cJSON_IsArray(item) ? item->child : item;
        const cJSON *said = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "path") : item;
        if (cJSON_IsString(said) && strcmp(said->valuestring, path) == 0)
            snprintf(place, sizeof place, "trials[%zu]%s", i, cJSON_IsObject(item) ? ".path" : "");
        i++;
        item = item ? item->next : NULL;
    }
    cJSON_Delete(document);
    return place[0] ? assay_json_find(job->text, job->text_size, place, NULL) : (assay_json_place){0, 0};
}

/* Called when trials are expanded, as the name may be one that a pattern found. */
int assay_job_set_baseline(assay_job *job, const char *name, assay_error *err)
{
    const char *wanted = name ? name : job->baseline_name;
    job->baseline = 0;
    if (!wanted)
        return ASSAY_OK;
    while (job->baseline < job->trial_count && strcmp(job->trials[job->baseline].name, wanted) != 0)
        job->baseline++;
    if (job->baseline < job->trial_count)
        return ASSAY_OK;
    job->baseline = 0;
    static const char said[] = "the baseline \"%.200s\" is none of the trials' names, the first of which is \"%.200s\"";
    const char *first = job->trial_count ? job->trials[0].name : "";
    char text[sizeof said + 400];
    snprintf(text, sizeof text, said, wanted, first);
    return name ? assay_fail(err, ASSAY_EUSAGE, "--baseline: %s", text)
                : assay_job_fail(job, "comparison", "baseline", err, "%s", text);
}
