/* pilot.c - assay pilot: launches a training, watches it, and launches it again with other settings until a run is
 * clean. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "action/command.h"
#include "pilot/pilot.h"
#include "base/activity.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "parallel/interrupt.h"

enum { FAILURES = 5 }; /* in a row, then the pilot gives up: its state stays, and it can be started again */

typedef struct pilot_options {
    bool once, dry_run, status;
} pilot_options;

static const assay_setting OPTIONS[] = {
    {"once", ASSAY_SETTING_SWITCH, offsetof(pilot_options, once), NULL,
     "Make one transition and exit, for cron. Default: continue until the end."},
    {"dry-run", ASSAY_SETTING_SWITCH, offsetof(pilot_options, dry_run), NULL,
     "Only print what the next transition would do."},
    {"status", ASSAY_SETTING_SWITCH, offsetof(pilot_options, status), NULL,
     "Only print how far the pilot is, and each launch with its settings and findings."},
    {0}};

/* Sleeps in pieces, so that a signal does not have to wait for the end. */
static void wait_for(double seconds)
{
    for (double left = seconds; left > 0 && !assay_interrupt_wished(); left -= 0.2)
        assay_command_sleep(left < 0.2 ? left : 0.2);
}

/* Steps until the end, the end of a transition with --once, or a signal. *stopped tells of the last two. */
static int go(assay_pilot *pilot, const pilot_options *options, bool *stopped, assay_error *err)
{
    int failures = 0;
    *stopped = false;
    while (!assay_pilot_ended(pilot)) {
        assay_pilot_did did;
        if (assay_interrupt_wished()) {
            *stopped = true;
            return ASSAY_OK;
        }
        int status = assay_pilot_step(pilot, &did, err);
        failures = status == ASSAY_OK ? 0 : failures + 1;
        if (status != ASSAY_OK && (options->once || did.final || status != ASSAY_EIO || failures >= FAILURES))
            return status;
        if (status != ASSAY_OK) {
            assay_log_warn("%s; trying again", err->text);
            did.wait = assay_pilot_poll_seconds(pilot);
        } else if (options->once && did.turned) {
            *stopped = !assay_pilot_ended(pilot);
            return ASSAY_OK;
        }
        wait_for(did.wait);
    }
    return ASSAY_OK;
}

/* With --json: {"next": ["look at job 7", ...]}, a text for each line. */
static int print_next(const assay_pilot *pilot)
{
    assay_buf out = ASSAY_BUF(2 * ASSAY_PILOT_CEILING), text = ASSAY_BUF(ASSAY_PILOT_CEILING);
    const bool json = cli_given()->form == CLI_JSON;
    assay_pilot_put_next(pilot, json ? &text : &out);
    if (json) {
        assay_jw w = assay_jw_over(&out);
        assay_jw_object(&w, NULL);
        assay_jw_array(&w, "next");
        for (size_t at = 0, n; at < text.size; at += n + 1) {
            const char *line = (const char *)text.data + at, *end = memchr(line, '\n', text.size - at);
            n = end ? (size_t)(end - line) : text.size - at;
            assay_jw_text_n(&w, NULL, line, n);
        }
        assay_jw_end(&w);
        assay_jw_end(&w);
        assay_put_u8(&out, '\n');
        out.status = out.status == ASSAY_OK ? assay_buf_status(&text) : out.status;
    }
    assay_buf_release(&text);
    return cli_finish(&out, CLI_DONE);
}

static int print_status(assay_pilot *pilot)
{
    assay_buf out = ASSAY_BUF(4 * ASSAY_PILOT_CEILING);
    assay_draw draw;
    assay_error err = {""};
    int status = cli_given()->form == CLI_JSON
                     ? assay_pilot_put_state(pilot, &out)
                     : assay_pilot_put_status(pilot, cli_draw_style(CLI_DRAW_AUTO, &draw), &out);
    if (status == ASSAY_OK)
        return cli_finish(&out, CLI_DONE);
    assay_buf_release(&out);
    assay_fail(&err, status, "pilot: %s", assay_status_text(status));
    return cli_fail(status, &err);
}

/* How it ended, and the exit code of that. */
static int print_end(assay_pilot *pilot)
{
    bool damaged, clean = assay_pilot_clean(pilot, &damaged);
    assay_buf out = ASSAY_BUF(2 * ASSAY_PILOT_CEILING);
    if (cli_given()->form != CLI_JSON)
        assay_put_format(&out, "%s: %s\n", clean ? "clean run" : "no clean run", assay_pilot_reason(pilot));
    assay_pilot_put_state(pilot, &out);
    return cli_finish(&out, clean ? CLI_DONE : damaged ? CLI_LOSSES : CLI_FINDINGS);
}

static int drive(assay_pilot *pilot, const pilot_options *options)
{
    char program[4096];
    bool stopped = false;
    assay_error err = {""};
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    assay_interrupt_listen();
    assay_interrupt_listen_to(SIGINT);
    int status = assay_pilot_prepare(pilot, length > 0 ? program : "assay", &err);
    ASSAY_THEN(status, go(pilot, options, &stopped, &err));
    assay_interrupt_forget();
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    if (!stopped)
        return print_end(pilot);
    return options->once ? CLI_DONE : CLI_STOPPED;
}

static int run(const cli_context *context, int argc, char **argv)
{
    pilot_options options = {.once = false};
    const char *path[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_pilot *pilot = NULL;
    assay_activity_show(false); /* it looks again and again, and says itself what happens */
    int status = cli_options_parse(&cli_pilot, argc, argv, &options, path, &operands, &err);
    ASSAY_THEN(status, assay_pilot_open(path[0], !options.dry_run && !options.status, &pilot, &err));
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    int code = options.status ? print_status(pilot) : options.dry_run ? print_next(pilot) : drive(pilot, &options);
    assay_pilot_close(pilot);
    return code;
}

const cli_command cli_pilot = {
    "pilot",
    "STATE",
    "Trains under Slurm, stops a training that has findings, and trains again with other settings "
    "until a run is clean.",
    OPTIONS,
    1,
    1,
    CLI_SAYS | CLI_PRINTED,
    run};
