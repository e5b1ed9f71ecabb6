/* verify.c - assay verify: is a checkpoint whole and sane, and which one is to be resumed from?
 *
 * The judgement is src/verify's; here are its options, its lines and its exit code. */
#include <string.h>

#include "cli/cli.h"
#include "cli/s3.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "report/text/listing.h"
#include "verify/verify.h"

typedef struct verify_options {
    bool last, all, strict;
    int of; /* assay_framework */
} verify_options;

#define FIELD(name) offsetof(verify_options, name)
static const assay_setting OPTIONS[] = {
    {"last", ASSAY_SETTING_SWITCH, FIELD(last), NULL,
     "Only the newest checkpoint, which a resume would load, and where that is not sound those before it until one is."},
    {"for", ASSAY_SETTING_WORD, FIELD(of), "FRAMEWORK",
     "What this framework needs to resume counts as well, and the answer says which checkpoint it would pick: any, trainer "
     "(Hugging Face), lightning, dcp, megatron, deepspeed.",
     "any|trainer|lightning|dcp|megatron|deepspeed", .initial = "any"},
    {"all", ASSAY_SETTING_SWITCH, FIELD(all), NULL,
     "A line for every file, not only for those of which something is said."},
    {"strict", ASSAY_SETTING_SWITCH, FIELD(strict), NULL,
     "Pickles that need classes of their own program count as if loading them ran code."},
    {0},
};

/* "14 tensors, 7.93 kB: the file ends early ... (and 2 more)" */
static void put_content(const assay_verify_file *f, assay_buf *out)
{
    const size_t said = f->losses + f->findings + f->remarks;
    assay_put_format(out, "%zu tensor%s, ", f->tensors, assay_plural(f->tensors));
    assay_text_put_bytes(out, f->bytes);
    if (said > 0 && f->first) {
        const size_t length = strlen(f->path);
        const bool named = strncmp(f->first, f->path, length) == 0 && strncmp(f->first + length, ": ", 2) == 0;
        const char *text = named ? f->first + length + 2 : f->first;
        assay_put_format(out, ": ");
        assay_text_put_clean(out, text, strlen(text));
    }
    if (said > 1)
        assay_put_format(out, " (and %zu more)", said - 1);
}

static assay_draw_colour colour_of(assay_verify_state state)
{
    return state >= ASSAY_VERIFY_DAMAGED   ? ASSAY_DRAW_ALARM
           : state >= ASSAY_VERIFY_SUSPECT ? ASSAY_DRAW_BAD
                                           : ASSAY_DRAW_GOOD;
}

/* The line of a file; on a terminal that is too narrow for it, its path in one line and the rest below. */
static void put_file(const assay_verify_file *f, size_t widest, const assay_draw *draw, assay_buf *out)
{
    enum { WORD = 10, INDENT = 12 };
    const assay_draw_colour colour = colour_of(f->state);
    assay_buf content = ASSAY_BUF(ASSAY_REPORT_CEILING);
    put_content(f, &content);
    const size_t columns = assay_text_columns((const char *)content.data, content.size);
    assay_draw_begin(draw, colour, out);
    assay_put_format(out, "%-*s", WORD, assay_verify_word(f->state));
    assay_draw_end(draw, colour, out);
    assay_text_put_blanks(out, INDENT - WORD);
    assay_text_put_clean(out, f->path, strlen(f->path));
    if (draw && INDENT + widest + 2 + columns > assay_text_line_columns(draw)) {
        assay_put_u8(out, '\n');
        assay_text_put_wrapped(out, draw, INDENT, NULL, (const char *)content.data, content.size);
    } else {
        assay_text_put_blanks(out, widest - assay_text_columns(f->path, strlen(f->path)) + 2);
        assay_put_bytes(out, content.data, content.size);
        assay_put_u8(out, '\n');
    }
    if (assay_buf_status(&content) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&content);
    assay_buf_release(&content);
}

static bool is_listed(const verify_options *options, const assay_verify_file *f)
{
    return options->all || f->state != ASSAY_VERIFY_SOUND;
}

static void put_text(const verify_options *options, const assay_verification *j, const assay_draw *draw, assay_buf *out)
{
    size_t widest = 0, listed = 0;
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_verification_put_line(j, &line);
    assay_draw_begin(draw, colour_of(j->state), out);
    assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    assay_draw_end(draw, colour_of(j->state), out);
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
    for (size_t i = 0; i < j->files; i++) {
        const size_t columns = assay_text_columns(j->file[i].path, strlen(j->file[i].path));
        if (!is_listed(options, &j->file[i]))
            continue;
        widest = columns > widest ? columns : widest;
        listed++;
    }
    if (listed > 0)
        assay_put_u8(out, '\n');
    for (size_t i = 0; i < j->files; i++)
        if (is_listed(options, &j->file[i]))
            put_file(&j->file[i], widest, draw, out);
}

/* With --last: what was asked is the newest one, whatever is wrong with those before. */
static int code_of(const assay_verification *j)
{
    static const int codes[ASSAY_VERIFY_STATES] = {
        [ASSAY_VERIFY_SOUND] = CLI_DONE,       [ASSAY_VERIFY_NOTE] = CLI_DONE,
        [ASSAY_VERIFY_UNREAD] = CLI_UNREAD,    [ASSAY_VERIFY_INCOMPLETE] = CLI_INCOMPLETE,
        [ASSAY_VERIFY_SUSPECT] = CLI_FINDINGS, [ASSAY_VERIFY_DAMAGED] = CLI_LOSSES,
        [ASSAY_VERIFY_CODE] = CLI_RUNS_CODE,
    };
    return codes[j->state];
}

static int conclude(const verify_options *options, const assay_verification *j)
{
    assay_draw draw;
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (cli_given()->form == CLI_JSON)
        assay_verification_put_json(j, &out);
    else if (cli_given()->form == CLI_CSV)
        assay_verification_put_csv(j, &out);
    else
        put_text(options, j, cli_draw_style(CLI_DRAW_AUTO, &draw), &out);
    return cli_finish(&out, code_of(j));
}

static int run(const cli_context *context, int argc, char **argv)
{
    verify_options options = {.last = false};
    const cli_shared *given = cli_given();
    const char *trial[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    assay_verification judgement = {.last_sound = -1};
    int status = cli_options_parse(&cli_verify, argc, argv, &options, trial, &operands, &err);
    ASSAY_THEN(status, assay_verify_make_job(trial[0], &job, &err));
    status = assay_comm_agree(context->comm, status, &err);
    ASSAY_THEN(status, cli_s3_begin(context->comm, &job, NULL, &err));
    if (status == ASSAY_OK) {
        const assay_verify_options asked = {.from = given->steps.from,
                                            .to = given->steps.to,
                                            .memory = cli_engine_memory(&job, given->memory),
                                            .progress = cli_progress(),
                                            .strict = options.strict,
                                            .of = (assay_framework)options.of,
                                            .last = options.last};
        status = assay_verify_run(context->comm, trial[0], &asked, &judgement, &err);
    }
    const bool first = assay_comm_rank(context->comm) == 0;
    const int code = status != ASSAY_OK
                         ? cli_fail(status, &err)
                         : cli_share_code(context->comm, first ? conclude(&options, &judgement) : CLI_DONE);
    assay_verification_release(&judgement);
    assay_job_release(&job);
    return code;
}

const cli_command cli_verify = {
    "verify",
    "RUN",
    "Says which checkpoint to resume from: files, sizes, checksums, NaN, moments, what loading runs.",
    OPTIONS,
    1,
    1,
    CLI_WORLD | CLI_TRIALS | CLI_STEPS | CLI_MEMORY | CLI_PROGRESS | CLI_LISTS | CLI_PRINTED,
    run};
