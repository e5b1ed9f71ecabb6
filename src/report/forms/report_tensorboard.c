/* report_tensorboard.c - tensorboard/TRIAL/: one run for each trial, with scalars that TensorBoard draws.
 *
 * Steps are global steps. Wall times are 0, so the bytes do not depend on when the report was made. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "report/forms/forms.h"
#include "report/model/curves.h"
#include "tfrecord/tfevent.h"

/* Names of directories may have 255 bytes: "_", NAME_MOST and the hash fit with room. */
enum { NAME_MOST = 100 };
static const char FILE_NAME[] = "events.out.tfevents.0.assay";

static bool is_letter(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Puts the run's directory. A name that is fit for one stands for itself; of another the fit characters are kept
 * behind "_", which no fit name begins with, and its hash keeps it apart from names that look alike. So no name leads
 * out of the directory. */
static void put_directory(assay_buf *out, const char *name)
{
    char hex[65];
    size_t length = strlen(name), fit = 0;
    while (fit < length && (is_letter(name[fit]) || (fit > 0 && strchr("._-", name[fit]))))
        fit++;
    if (fit == length && length > 0 && length <= NAME_MOST) {
        assay_put_bytes(out, name, length);
        return;
    }
    assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, name, length);
    assay_sha256_hex(&hash, hex);
    assay_put_u8(out, '_');
    for (size_t i = 0; i < length && i < NAME_MOST; i++)
        assay_put_u8(out, (uint8_t)(is_letter(name[i]) || strchr("._-", name[i]) ? name[i] : '_'));
    assay_put_format(out, "-%.16s", hex);
}

/* Makes "GROUP/NAME" or "GROUP/MODE/NAME", which protobuf wants to be UTF-8; NULL without memory. The caller frees
 * it. */
static char *make_tag(const char *group, int mode, const char *name)
{
    assay_buf tag = ASSAY_BUF(ASSAY_REPORT_CEILING);
    size_t length = strlen(name);
    assay_put_format(&tag, "%s/%s%s", group, assay_mode_name(mode), mode ? "/" : "");
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t size = assay_utf8_next(name + at, length - at, &code);
        assay_put_bytes(&tag, code == ASSAY_UTF8_BAD ? "\xef\xbf\xbd" : name + at, code == ASSAY_UTF8_BAD ? 3 : size);
        at += size;
    }
    assay_put_u8(&tag, '\0');
    if (assay_buf_status(&tag) == ASSAY_OK)
        return (char *)tag.data; /* the buffer's memory, handed on */
    assay_buf_release(&tag);
    return NULL;
}

/* Puts 1 at each saved step with a finding, 0 at the first, the last, and those beside one with a finding: the line
 * between two of them is flat. */
static int put_findings(const assay_trial *info, const report_rule *rule, assay_buf *out)
{
    const assay_findings *found = rule->findings;
    uint64_t steps = assay_trial_steps(info);
    size_t next = 0;
    bool before = false;
    if (!found || found->step_count == 0 || report_is_in_time(rule))
        return ASSAY_OK;
    char *tag = make_tag("findings", ASSAY_MODE_NONE, rule->instance->name);
    for (uint64_t i = 0; tag && i < steps; i++) {
        int64_t step = assay_trial_step(info, i)->step;
        bool fired = next < found->step_count && found->steps[next] == step;
        next += fired;
        bool after =
            i + 1 < steps && next < found->step_count && found->steps[next] == assay_trial_step(info, i + 1)->step;
        if (fired || before || after || i == 0 || i + 1 == steps)
            assay_tfevent_put_scalar(out, 0, step, tag, fired);
        before = fired;
    }
    free(tag);
    return tag ? ASSAY_OK : ASSAY_ENOMEM;
}

static int put_losses(const assay_trial *info, const assay_curves *curves, assay_buf *out)
{
    for (size_t c = 0; c < curves->loss_count; c++) {
        const assay_loss_curve *loss = &curves->losses[c];
        char *tag = make_tag("loss", loss->mode, assay_trial_tensor(info, loss->tensor));
        ASSAY_HAVE(tag);
        for (size_t i = 0; i < loss->count; i++)
            assay_tfevent_put_scalar(out, 0, loss->point[i].step, tag, loss->point[i].value);
        free(tag);
    }
    return ASSAY_OK;
}

static int put_norms(const assay_trial *info, const assay_curves *curves, assay_buf *out)
{
    for (size_t c = 0; c < curves->tensor_count; c++) {
        const assay_tensor_curve *tensor = &curves->tensors[c];
        char *tag = make_tag("norm", tensor->mode, assay_trial_tensor(info, tensor->tensor));
        ASSAY_HAVE(tag);
        for (size_t i = 0; i < tensor->count; i++)
            assay_tfevent_put_scalar(out, 0, tensor->point[i].step, tag, tensor->point[i].norm);
        free(tag);
    }
    return ASSAY_OK;
}

static int put_curves(const assay_outcome *outcome, size_t trial, assay_buf *out)
{
    assay_curves curves;
    const assay_trial *info = outcome->trials[trial].info;
    ASSAY_TRY(assay_curves_make(outcome, trial, &curves));
    int status = put_losses(info, &curves, out);
    ASSAY_THEN(status, put_norms(info, &curves, out));
    assay_curves_release(&curves);
    return status;
}

static int put_trial(const assay_outcome *outcome, size_t trial, assay_buf *out)
{
    const assay_trial *info = outcome->trials[trial].info;
    assay_tfevent_put_version(out, 0);
    int status = put_curves(outcome, trial, out);
    for (size_t i = 0; status == ASSAY_OK && info && i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, &outcome->trials[trial], i, false);
        status = put_findings(info, &rule, out);
    }
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

static int write_trial(const assay_outcome *outcome, size_t trial, assay_output *output, assay_error *err)
{
    assay_buf events = ASSAY_BUF(ASSAY_REPORT_CEILING), name = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_put_format(&name, "tensorboard/");
    put_directory(&name, outcome->trials[trial].trial->name);
    assay_put_format(&name, "/%s", FILE_NAME);
    assay_put_u8(&name, '\0');
    int status = put_trial(outcome, trial, &events);
    status = status == ASSAY_OK ? assay_buf_status(&name) : status;
    if (status == ASSAY_OK)
        status = assay_output_write(output, (const char *)name.data, events.data, events.size, err);
    else
        assay_fail(err, status, "tensorboard: cannot make the report: %s", assay_status_text(status));
    assay_buf_release(&name);
    assay_buf_release(&events);
    return status;
}

/* One trial that cannot be written does not keep the others back; the first failure is told. */
static int write_tensorboard(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                             assay_error *err)
{
    const assay_outcome *outcome = report->outcome;
    int first = ASSAY_OK;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        int status = write_trial(outcome, t, output, first == ASSAY_OK ? err : NULL);
        first = first == ASSAY_OK ? status : first;
    }
    return first;
}

const report_form report_form_tensorboard = {.write = write_tensorboard};
