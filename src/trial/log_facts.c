/* log_facts.c - see log_facts.h. */
#include "trial/log_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/vec.h"
#include <assay/steps.h>

static const assay_field text_fields[] = {{.kind = ASSAY_FIELD_TEXT, .size = sizeof(char *)},
                                          {0}}; /* of a list of texts */
#define NAMES(type, member) ASSAY_FIELD_ROWS(type, member.list, member.count, text_fields)
static const assay_field names_fields[] = {ASSAY_FIELD_ROWS(assay_log_names, list, count, text_fields), {0}};
static const assay_field count_fields[] = {
    ASSAY_FIELD(assay_log_count, what), ASSAY_FIELD(assay_log_count, count), {0}};
static const assay_field range_fields[] = {
    ASSAY_FIELD(assay_log_range, worker),    ASSAY_FIELD(assay_log_range, first),
    ASSAY_FIELD(assay_log_range, last),      ASSAY_FIELD(assay_log_range, values),
    ASSAY_FIELD(assay_log_range, bad),       ASSAY_FIELD(assay_log_range, bad_step),
    ASSAY_FIELD(assay_log_range, loss),      ASSAY_FIELD(assay_log_range, loss_step),
    ASSAY_FIELD(assay_log_range, last_loss), {0}};
static const assay_field bad_fields[] = {ASSAY_FIELD(assay_log_bad, step),
                                         ASSAY_FIELD_MOST(assay_log_bad, mode, ASSAY_MODES - 1),
                                         ASSAY_FIELD(assay_log_bad, worker),
                                         ASSAY_FIELD(assay_log_bad, tensor),
                                         {0}};
static const assay_field log_fields[] = {ASSAY_FIELD(assay_log_facts, kind),
                                         ASSAY_FIELD(assay_log_facts, also),
                                         ASSAY_FIELD(assay_log_facts, unknown),
                                         ASSAY_FIELD(assay_log_facts, files),
                                         ASSAY_FIELD(assay_log_facts, resolution),
                                         ASSAY_FIELD(assay_log_facts, output),
                                         ASSAY_FIELD(assay_log_facts, running),
                                         ASSAY_FIELD(assay_log_facts, workers_known),
                                         ASSAY_FIELD_ROWS(assay_log_facts, counts.list, counts.count, count_fields),
                                         ASSAY_FIELD_ROWS(assay_log_facts, ranges, range_count, range_fields),
                                         NAMES(assay_log_facts, judged.objective),
                                         ASSAY_FIELD(assay_log_facts, judged.whole),
                                         ASSAY_FIELD(assay_log_facts, judged.rewarded),
                                         NAMES(assay_log_facts, judged.pairs),
                                         NAMES(assay_log_facts, judged.never),
                                         NAMES(assay_log_facts, judged.others),
                                         ASSAY_FIELD_ROWS(assay_log_facts, judged.bad, judged.bad_count, bad_fields),
                                         NAMES(assay_log_facts, judged.instead),
                                         ASSAY_FIELD(assay_log_facts, judged.tags),
                                         ASSAY_FIELD(assay_log_facts, judged.maybe),
                                         ASSAY_FIELD(assay_log_facts, judged.values),
                                         ASSAY_FIELD(assay_log_facts, judged.losses),
                                         ASSAY_FIELD(assay_log_facts, judged.steps),
                                         ASSAY_FIELD_ROWS(assay_log_facts, around.list, around.count, count_fields),
                                         NAMES(assay_log_facts, logged_nothing),
                                         NAMES(assay_log_facts, never_started),
                                         {0}};

/* A zeroed struct may be released, so failures of adding leave nothing special behind. */
void assay_log_names_release(assay_log_names *names)
{
    assay_fields_release(names_fields, names);
    *names = (assay_log_names){0};
}

uint64_t assay_log_facts_count(const assay_log_facts *log, const char *what)
{
    for (size_t i = 0; i < log->counts.count; i++)
        if (strcmp(log->counts.list[i].what, what) == 0)
            return log->counts.list[i].count;
    return 0;
}

void assay_log_facts_release(assay_log_facts *log)
{
    assay_fields_release(log_fields, log);
    *log = (assay_log_facts){0};
}

/* Texts are copied; a failed copy leaves NULL members, which releasing accepts. */
int assay_log_counts_add(assay_log_counts *counts, const char *what, uint64_t count)
{
    assay_log_count *added = ASSAY_VEC_ADD(counts);
    ASSAY_HAVE(added);
    *added = (assay_log_count){assay_copy_text(what), count};
    return added->what ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_log_facts_range(assay_log_facts *log, const assay_log_range *range)
{
    assay_log_range *added = assay_vec_add(&log->ranges, &log->range_count, &log->range_room, sizeof *added);
    ASSAY_HAVE(added);
    *added = *range;
    added->worker = assay_copy_text(range->worker);
    added->bad = assay_copy_text(range->bad);
    added->loss = assay_copy_text(range->loss);
    return added->worker && added->bad && added->loss ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_log_names_add(assay_log_names *names, const char *text, size_t length)
{
    char **added = ASSAY_VEC_ADD(names);
    ASSAY_HAVE(added);
    *added = assay_copy_bytes_as_text(text, length);
    return *added ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_log_judged_bad(assay_log_judged *judged, int64_t step, int mode, const char *worker, const char *tensor)
{
    assay_log_bad *added = assay_vec_add(&judged->bad, &judged->bad_count, &judged->bad_room, sizeof *added);
    ASSAY_HAVE(added);
    *added = (assay_log_bad){step, mode, assay_copy_text(worker), assay_copy_text(tensor)};
    return added->worker && added->tensor ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_log_names_pack(const assay_log_names *names, assay_buf *out)
{
    assay_fields_pack(names_fields, names, out);
}

int assay_log_names_unpack(assay_cursor *in, assay_log_names *out)
{
    return assay_fields_unpack(names_fields, in, out);
}

void assay_log_facts_pack(const assay_log_facts *log, assay_buf *out)
{
    assay_put_u8(out, log->kind != NULL);
    if (log->kind)
        assay_fields_pack(log_fields, log, out);
}

int assay_log_facts_unpack(assay_cursor *in, assay_log_facts *out)
{
    assay_log_facts log = {0};
    if (assay_get_u8(in) == 0)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    ASSAY_TRY(assay_fields_unpack(log_fields, in, &log));
    /* What was read may be complete as fields and still lack what others rely on. */
    if (!log.kind || !log.also || !log.unknown || log.judged.pairs.count % 2 != 0) {
        in->failed = true;
        assay_log_facts_release(&log);
        return ASSAY_EFORMAT;
    }
    *out = log;
    return ASSAY_OK;
}
