/* launch.c - names a training, submits it held, releases it, and stops it.
 *
 * It is launched exactly once, whenever the pilot dies: the state has the name before sbatch is called, so a restart
 * finds the job by it; a held job stays in the queue until it is released, so it is always found; and only the job
 * whose id is in the state is ever released. docs/pilot.md goes through every point of death. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "pilot/pilot_internal.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "base/log.h"

/* Trial and report of a launch bear its name, so nothing of an earlier launch is ever in the way. */
char *pilot_trial(const assay_pilot *pilot)
{
    return assay_path_join(pilot->runs, pilot->job_name);
}

char *pilot_report(const assay_pilot *pilot)
{
    return assay_path_join(pilot->reports, pilot->job_name);
}

/* Names the next launch. The number makes it unique among this state's launches, the random one among states that
 * share base and cluster. */
int pilot_step_name(assay_pilot *pilot, assay_error *err)
{
    uint32_t random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return assay_fail(err, ASSAY_EIO, "no random number: %s", strerror(errno));
    pilot_add(pilot, "num_retraining");
    snprintf(pilot->job_name, sizeof pilot->job_name, "%s-%llu-%08x", pilot->base,
             (unsigned long long)pilot_count(pilot, "num_retraining"), random);
    pilot->job_id[0] = '\0';
    pilot->job_status = PILOT_JOB_SUBMITTING;
    pilot->rule_status = PILOT_RULE_NOT_STARTED;
    int status = pilot_add_launch(pilot, err);
    pilot->stale = status != ASSAY_OK; /* what is here is half of a launch */
    ASSAY_THEN(status, pilot_write(pilot, err));
    /* A place where tests let the pilot die; docs/pilot.md has all of them. */
    assay_fault_die("name-written");
    return status;
}

/* Writes "PREFIX_NAME=value" with the name in capitals; numbers as in the file, true and false as 1 and 0. */
static void put_variable(const char *prefix, const cJSON *item, assay_buf *out)
{
    assay_put_format(out, "%s", prefix);
    for (const char *c = item->string; *c; c++)
        assay_put_u8(out, *c >= 'a' && *c <= 'z' ? (uint8_t)(*c - 'a' + 'A') : (uint8_t)*c);
    assay_put_u8(out, '=');
    if (cJSON_IsString(item))
        assay_put_bytes(out, item->valuestring, strlen(item->valuestring));
    else if (cJSON_IsBool(item))
        assay_put_u8(out, cJSON_IsTrue(item) ? '1' : '0');
    else
        pilot_put_json(item, 0, 0, out);
    assay_put_u8(out, '\0');
}

/* Writes the directory of the trial, from the root: the script may be started anywhere. */
static void put_directory(const assay_pilot *pilot, assay_buf *out)
{
    char *trial = pilot_trial(pilot),
         *here = trial && trial[0] != '/' && !strstr(trial, "://") ? getcwd(NULL, 0) : NULL;
    assay_put_format(out, "ASSAY_PILOT_TRIAL=%s%s%s", here ? here : "", here ? "/" : "", trial ? trial : "");
    assay_put_u8(out, '\0');
    free(here);
    free(trial);
}

typedef struct submission {
    assay_buf text; /* the variables, one behind the other, each terminated */
    const char **environment, **options;
    char name[PILOT_NAME + 16], comment[PILOT_NAME + 32];
} submission;

static void release_submission(submission *s)
{
    free(s->environment);
    free(s->options);
    assay_buf_release(&s->text);
}

/* Pointers into s->text are taken when it grows no more. */
static int make_submission(const assay_pilot *pilot, submission *s, assay_error *err)
{
    size_t variables = 2, given = 0, used = 0;
    *s = (submission){.environment = NULL};
    assay_buf_init(&s->text, ASSAY_PILOT_CEILING);
    put_directory(pilot, &s->text);
    assay_put_format(&s->text, "ASSAY_PILOT_NAME=%s", pilot->job_name);
    assay_put_u8(&s->text, '\0');
    for (const cJSON *item = pilot->run_spec->child; item; item = item->next, variables++)
        put_variable("RUN_SPEC_", item, &s->text);
    while (pilot->options && pilot->options[given])
        given++;
    s->environment = assay_realloc_array(NULL, variables + 1, sizeof *s->environment);
    s->options = assay_realloc_array(NULL, given + 4, sizeof *s->options);
    if (!s->environment || !s->options || assay_buf_status(&s->text) != ASSAY_OK) {
        release_submission(s);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", pilot->file);
    }
    const char *at = (const char *)s->text.data;
    for (size_t i = 0; i < variables; i++, at += strlen(at) + 1)
        s->environment[i] = at;
    s->environment[variables] = NULL;
    snprintf(s->name, sizeof s->name, "--job-name=%s", pilot->job_name);
    snprintf(s->comment, sizeof s->comment, "--comment=assay-pilot:%s", pilot->job_name);
    for (size_t i = 0; i < given; i++)
        s->options[used++] = pilot->options[i];
    s->options[used++] = s->name;
    s->options[used++] = s->comment;
    s->options[used++] = "--hold";
    s->options[used] = NULL;
    return ASSAY_OK;
}

/* Asks Slurm for the name first: the pilot that named this launch may have died behind sbatch. The lock goes to
 * sbatch as an open file, so no other pilot starts while it is still at it. */
int pilot_step_submit(assay_pilot *pilot, assay_error *err)
{
    submission s;
    char id[ASSAY_SLURM_ID] = "";
    int status = assay_slurm_find(pilot->job_name, id, err);
    ASSAY_TRY(status);
    if (id[0]) {
        assay_log_note("%s was submitted already: job %s", pilot->job_name, id);
    } else {
        status = strstr(pilot->runs, "://") ? ASSAY_OK : assay_dir_make(pilot->runs, err);
        ASSAY_THEN(status, make_submission(pilot, &s, err));
        ASSAY_TRY(status);
        const assay_slurm_script script = {pilot->script, s.options, NULL, s.environment, pilot->lock};
        status = assay_slurm_submit(&script, id, NULL, err);
        release_submission(&s);
        assay_fault_die("submit-done");
    }
    ASSAY_TRY(status);
    snprintf(pilot->job_id, sizeof pilot->job_id, "%s", id);
    pilot->job_status = PILOT_JOB_HELD;
    status = pilot_write(pilot, err);
    assay_fault_die("submit-written");
    return status;
}

/* Of several jobs of that name only the one in the state is released; those that wait besides are ended. */
int pilot_step_release(assay_pilot *pilot, assay_error *err)
{
    assay_slurm_job job;
    int status = assay_slurm_cancel_waiting(pilot->job_name, pilot->job_id, err);
    ASSAY_THEN(status, assay_slurm_state(pilot->job_id, &job, err));
    if (status == ASSAY_OK && job.phase == ASSAY_SLURM_PENDING) /* else it was released before the last pilot died */
        status = assay_slurm_release(pilot->job_id, err);
    assay_fault_die("release-done");
    ASSAY_TRY(status);
    assay_log_note("launched %s: job %s", pilot->job_name, pilot->job_id);
    pilot->job_status = PILOT_JOB_PENDING;
    pilot->rule_status = PILOT_RULE_IN_PROGRESS;
    pilot->next_action = PILOT_MONITOR;
    status = pilot_write(pilot, err);
    assay_fault_die("release-written");
    return status;
}

/* Called again and again until the job has ended: a training may take its time to stop. */
int pilot_step_stop(assay_pilot *pilot, assay_error *err)
{
    assay_slurm_job job;
    int status = assay_slurm_state(pilot->job_id, &job, err);
    if (status == ASSAY_OK && (job.phase == ASSAY_SLURM_PENDING || job.phase == ASSAY_SLURM_RUNNING)) {
        status = assay_slurm_cancel(pilot->job_id, err);
        assay_fault_die("stop-cancelled");
        ASSAY_THEN(status, assay_slurm_state(pilot->job_id, &job, err));
    }
    if (status != ASSAY_OK || job.phase == ASSAY_SLURM_PENDING || job.phase == ASSAY_SLURM_RUNNING)
        return status;
    assay_log_note("stopped %s: job %s", pilot->job_name, pilot->job_id);
    pilot->job_status = PILOT_JOB_STOPPED;
    status = pilot_write(pilot, err);
    assay_fault_die("stop-written");
    return status;
}

/* For a dry run: what would be called, with RANDOM in the place of a number that nobody has drawn yet. */
void pilot_put_submission(const assay_pilot *pilot, assay_buf *out)
{
    submission s;
    assay_pilot next = *pilot;
    if (pilot->job_status != PILOT_JOB_SUBMITTING)
        snprintf(next.job_name, sizeof next.job_name, "%s-%llu-RANDOM", pilot->base,
                 (unsigned long long)pilot_count(pilot, "num_retraining") + 1);
    if (make_submission(&next, &s, NULL) != ASSAY_OK)
        return;
    for (size_t i = 0; s.environment[i]; i++)
        assay_put_format(out, "    %s\n", s.environment[i]);
    assay_put_format(out, "    sbatch");
    for (size_t i = 0; s.options[i]; i++)
        assay_put_format(out, " %s", s.options[i]);
    assay_put_format(out, " %s\n", pilot->script);
    release_submission(&s);
}
