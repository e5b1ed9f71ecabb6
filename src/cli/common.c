/* common.c - see cli.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/leftovers.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "report/text/layout.h"
#include "trial/runs.h"

/* The exit code of a failure. Not collective. */
static int cli_exit_code(int status)
{
    switch (status) {
    case ASSAY_OK:
        return CLI_DONE;
    case ASSAY_EUSAGE:
    case ASSAY_EJOB:
    case ASSAY_EPARAM:
    case ASSAY_ENOTFOUND:
    case ASSAY_EFORMAT:
    case ASSAY_EUNSUPPORTED:
        return CLI_USAGE;
    case ASSAY_ESTOPPED:
        return CLI_STOPPED;
    default:
        return CLI_FAILED;
    }
}

int cli_fail(int status, const assay_error *err)
{
    assay_log_error("%s", err->text[0] ? err->text : assay_status_text(status));
    return cli_exit_code(status);
}

/* Set by cli_reader_may_leave(). */
static bool reader_may_leave;

/* Where standard output goes instead, by --out: a file without a name until all is printed. */
static const char *into;
static FILE *spool;

void cli_print_into(const char *path)
{
    into = path;
    cli_leave_terminal();
}

static int give_spool(void *context, const assay_taker *to)
{
    static char piece[1 << 16];
    size_t size = 0;
    int status = spool && fseek(spool, 0, SEEK_SET) != 0 ? ASSAY_EIO : ASSAY_OK;
    while (status == ASSAY_OK && spool && (size = fread(piece, 1, sizeof piece, spool)) > 0)
        status = to->take(to->context, piece, size);
    return status == ASSAY_OK && spool && ferror(spool) ? ASSAY_EIO : status;
}

int cli_print_end(assay_comm *comm, int code)
{
    assay_error err = {""};
    if (!into)
        return code;
    if ((!comm || assay_comm_rank(comm) == 0) && code != CLI_USAGE && code != CLI_FAILED) {
        const int status = assay_file_write_made(into, &(assay_maker){give_spool, NULL}, &err);
        code = status == ASSAY_OK ? code : cli_fail(status, &err);
    }
    if (spool)
        fclose(spool);
    spool = NULL;
    into = NULL;
    return comm ? cli_share_code(comm, code) : code;
}

int cli_print(assay_buf *buf, assay_error *err)
{
    int status = assay_buf_status(buf);
    if (status == ASSAY_OK && assay_alloc_refused())
        status = ASSAY_ENOMEM; /* something is missing, wherever that was */
    if (status != ASSAY_OK)
        return assay_fail(err, status, "standard output: %s", assay_status_text(status));
    assay_activity_hold(true); /* the report may go to the same terminal */
    errno = 0;
    if (into && !spool)
        spool = tmpfile();
    FILE *const to = into ? spool : stdout;
    bool written = to && fwrite(buf->data, 1, buf->size, to) == buf->size && fflush(to) == 0;
    const int failure = errno;
    assay_activity_hold(false);
    assay_buf_clear(buf);
    if (written || (reader_may_leave && failure == EPIPE))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", into ? into : "standard output", strerror(failure));
}

static const char *volatile last_words;

static void end_with_last_words(int number)
{
    const char *words = last_words;
    assay_leftovers_remove();
    if (words && write(STDERR_FILENO, words, strlen(words)) < 0) {
        /* nobody is left to be told */
    }
    raise(number); /* as it would have been: the handler is gone */
}

static void end_so(int number)
{
    struct sigaction action = {.sa_handler = end_with_last_words, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)}, before;
    sigemptyset(&action.sa_mask);
    /* not where it is ignored, as nohup wants it, nor where the command has something to do then */
    if (sigaction(number, NULL, &before) == 0 &&
        (before.sa_handler == SIG_DFL || before.sa_handler == end_with_last_words))
        sigaction(number, &action, NULL);
}

void cli_say_when_interrupted(const char *line)
{
    last_words = line;
    end_so(SIGINT);
    end_so(SIGTERM); /* which mpirun makes of Ctrl-C */
}

void cli_reader_may_leave(void)
{
    signal(SIGPIPE, SIG_IGN); /* for good: at its end the program writes what is left in its buffers */
    reader_may_leave = true;
}

int cli_print_kept(assay_buf *buf, assay_error *err)
{
    cli_reader_may_leave();
    return cli_print(buf, err);
}

int cli_finish(assay_buf *buf, int code)
{
    assay_error err = {""};
    int status = cli_print(buf, &err);
    assay_buf_release(buf);
    return status == ASSAY_OK ? code : cli_fail(status, &err);
}

int cli_finish_line(assay_buf *sentence, int code)
{
    assay_draw draw;
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_text_put_sentence(&text, cli_draw_style(CLI_DRAW_AUTO, &draw), (const char *)sentence->data, sentence->size);
    if (assay_buf_status(sentence) != ASSAY_OK)
        text.status = assay_buf_status(sentence);
    assay_buf_release(sentence);
    return cli_finish(&text, code);
}

bool cli_may_overwrite(bool given)
{
    const char *always = getenv("ASSAY_OVERWRITE");
    return given || (always && strcmp(always, "1") == 0);
}

int cli_claim_file(const char *command, const char *path, bool overwrite, assay_error *err)
{
    struct stat about;
    if (cli_may_overwrite(overwrite) || stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EUSAGE, "%s: %s is there already: give another name, or --overwrite", command, path);
}

int cli_share_code(assay_comm *comm, int code)
{
    assay_buf byte = ASSAY_BUF(1);
    if (assay_comm_rank(comm) == 0)
        assay_put_u8(&byte, (uint8_t)code);
    int status = assay_comm_broadcast(comm, &byte);
    code = status == ASSAY_OK && byte.size == 1 ? byte.data[0] : CLI_FAILED;
    assay_buf_release(&byte);
    if (status != ASSAY_OK)
        assay_log_error("the ranks could not agree how the run ended: %s", assay_status_text(status));
    return code;
}

int cli_read_job_text(const char *path, assay_buf *text, assay_error *err)
{
    int status = assay_file_read(path, CLI_JOB_CEILING, text, err);
    return status == ASSAY_EIO || status == ASSAY_EBUDGET ? ASSAY_EJOB
                                                          : status; /* what to do is the same: see the path */
}

const char *cli_place_of(const assay_instance *instance, char room[CLI_PLACE])
{
    room[0] = '\0';
    if (instance->line > 0)
        snprintf(room, CLI_PLACE, "line %zu, column %zu: ", instance->line, instance->column);
    return room;
}

const char *cli_mistake_of(const assay_instance *instance)
{
    const char *text = instance->error.text;
    const size_t length = strlen(instance->name);
    return strncmp(text, instance->name, length) == 0 && strncmp(text + length, ": ", 2) == 0 ? text + length + 2
                                                                                              : text;
}

void cli_put_shape(assay_buf *out, const int64_t *dim, int dims)
{
    assay_put_u8(out, '[');
    for (int i = 0; i < dims; i++)
        assay_put_format(out, "%s%" PRId64, i ? ", " : "", dim[i]);
    assay_put_u8(out, ']');
}

void cli_put_json_problem(assay_jw *w, const char *kind, const char *file, int64_t offset, const char *text)
{
    assay_jw_line(w, 2);
    assay_jw_object(w, NULL);
    ASSAY_JW(w, "kind", kind, "file", file);
    if (offset >= 0)
        assay_jw_i64(w, "offset", offset);
    else
        assay_jw_null(w, "offset");
    assay_jw_text(w, "text", text);
    assay_jw_end(w);
}

void cli_warn_problems(const char *trial, const assay_problems *problems)
{
    enum { SAID_MOST = 64 };
    const size_t said = problems->kept < SAID_MOST ? problems->kept : SAID_MOST;
    for (size_t i = 0; i < said; i++) {
        const assay_problem *p = &problems->list[i];
        const bool told = !p->file || strstr(p->text, p->file);
        assay_log_warn("%s: %s%s%s", trial, told ? "" : p->file, told ? "" : ": ", p->text);
    }
    if (problems->total > said)
        assay_log_warn("%s: and %" PRIu64 " more; `assay ls --json` lists up to %d", trial, problems->total - said,
                       ASSAY_PROBLEMS_KEPT);
}

void cli_put_json_problems(const assay_problems *problems, assay_jw *w)
{
    for (size_t i = 0; i < problems->kept; i++) {
        const assay_problem *p = &problems->list[i];
        cli_put_json_problem(w, assay_problem_word(p->kind), p->file, p->offset, p->text);
    }
}

int cli_expand_trials(assay_comm *comm, assay_job *job, assay_error *err)
{
    assay_buf found = ASSAY_BUF(SIZE_MAX);
    int status = ASSAY_OK;
    if (assay_comm_rank(comm) == 0) {
        status = assay_job_expand_trials(job, err);
        if (status == ASSAY_OK) {
            assay_job_pack_trials(job, &found);
            status = assay_buf_status(&found);
        }
    }
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &found));
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(found.data, found.size);
        status = assay_comm_agree(comm, assay_comm_rank(comm) ? assay_job_unpack_trials(job, &in, err) : ASSAY_OK, err);
    }
    assay_buf_release(&found);
    return status;
}
