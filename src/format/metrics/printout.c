/* printout.c - what training programs print: lines of names and numbers with a step, as torchtitan, DeepSpeed, litgpt,
 * nanoGPT, fairseq, Keras, Hugging Face's trainer and many scripts have them, and files whose lines are JSON objects.
 * Each file is a run.
 *
 * How it works. A line is cut into pairs (pairs.h); one of them is its step, in this order: a number of updates, a global
 * step, an iteration, a step, a batch of an epoch ("[50/1251]"), an epoch. A number in front of the others ("[10]
 * train-rmse:0.5") is one where no line has another step, and where it rises in the file. Where a step falls and the epoch rises,
 * steps are counted anew in each epoch: counting goes on from the last. A line of validation without a step of its own
 * stands at the last step of training; rows of a printed dictionary without one are counted. Where an epoch is all that
 * lines say, and several of an epoch have the same figure, these are counted, and so are losses in a file that has no
 * steps at all. A line that has neither a step nor a figure that trainings have is unknown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"
#include "format/metrics/boxed.h"
#include "format/metrics/columns.h"
#include "format/metrics/darknet.h"
#include "format/metrics/document.h"
#include "format/metrics/evidence.h"
#include "format/metrics/kaldi.h"
#include "format/metrics/printed.h"

enum {
    NOT_KNOWN = -1,
    BEGUN_MOST = 1 << 16,
};

typedef struct begun_epoch {
    int64_t epoch, offset;
} begun_epoch;

typedef struct reader {
    metrics_log *log;
    assay_buf plain; /* a line without its colour codes */
    assay_buf held;  /* lines of a dictionary that goes on */
    unsigned lines;  /* of these */
    metrics_pairs pairs;
    metrics_columns columns;
    metrics_boxed boxed;
    assay_pull pull;
    bool json;                 /* the file's lines are JSON objects */
    bool numbered;             /* numbers in front of lines are steps */
    bool proving;              /* a proof is looked for */
    metrics_evidence evidence; /* likewise */
    bool of_epoch;             /* "Batch 3/100" is the batch 100 of the epoch 3 */
    bool nested;               /* steps count within the iteration, which is an epoch by another name */
    uint64_t counted;          /* the figure whose lines are counted, a hash; 0: none is */
    bool epochs;               /* of objects the epoch is the step */
    unsigned falls;            /* of steps, with no new epoch: as where each episode of a game begins anew */
    step_kind kind;            /* of the last line that had a step */
    unsigned of_losses;        /* of a file of JSON objects: a bit for each kind of step that rows with a loss have */
    int64_t raw, of, epoch;    /* as the last line of training printed them; NOT_KNOWN: none did */
    int64_t said;              /* the epoch, as the last line said that has no other step; NOT_KNOWN: none did */
    bool finer;                /* a line with a step within the epoch came since */
    int64_t offset;            /* of the epochs before, where each counts anew */
    begun_epoch *begun;        /* [begun_count] the epochs so far, for a training that goes on from one of them */
    size_t begun_count, begun_room;
    int64_t gap;   /* between the last two steps of the epoch */
    int64_t last;  /* step of training */
    int64_t rows;  /* of printed dictionaries */
    int aside;     /* mode of the last line, where it was not one of training; else 0 */
    bool by_epoch; /* a line said the epoch alone, and what follows belongs to it */
    bool proven;   /* a line came that nothing but a training prints */
    bool header;   /* the line before said a step and nothing else: what follows belongs to it */
} reader;

/* As metrics_numbered_by(), where the file's proof said what epochs are. */
static step_kind numbered(const reader *r, const metrics_said *s)
{
    return metrics_numbered_by(s, r->pairs.object && !r->epochs);
}

/* Rows of a validation have that name in front of each. */
static bool is_row_of_validation(const metrics_pairs *pairs)
{
    bool eval = false, train = false;
    for (size_t i = 0; i < pairs->count; i++) {
        const metrics_pair *pair = &pairs->list[i];
        const int own = metrics_mode_of(pair->name, pair->length);
        const int mode = own == ASSAY_MODE_TRAIN && pair->mode ? pair->mode : own;
        eval = eval || mode != ASSAY_MODE_TRAIN;
        train = train || (mode == ASSAY_MODE_TRAIN && (metrics_is_loss(pair->name, pair->length) ||
                                                       metrics_is_train_word(pair->name, pair->length)));
    }
    return eval && !train;
}

/* Rows with a loss have iterations and steps, and this one, without a loss, has steps alone: it is of a validation, which may
 * count epochs, as OpenMMLab's do. */
static bool lacks_finer_step(reader *r, const metrics_said *s)
{
    const step_kind kind = metrics_numbered_by(s, true);
    if (!r->json || kind == STEP_KINDS)
        return false;
    for (int k = 0; k < STEP_KINDS && s->loss; k++)
        r->of_losses |= s->step[k] ? 1u << k : 0;
    return !s->loss && (r->of_losses >> kind & 1) && (r->of_losses & ((1u << kind) - 1));
}

/* Of a step that is printed in thousands, and stands for all that are no farther from it, the one that comes next. */
static int64_t unrounded(const reader *r, const metrics_pair *pair, int64_t raw)
{
    const int64_t next = r->raw + r->gap;
    const bool fits = pair->rounded > 0 && r->gap > 0 && fabs((double)(next - raw)) <= pair->rounded;
    return fits ? next : raw;
}

/* Notes where an epoch begins. Without memory, or of too many, it is worked out. */
static void note_begin(reader *r, int64_t epoch)
{
    begun_epoch *added =
        r->begun_count < BEGUN_MOST ? assay_vec_add(&r->begun, &r->begun_count, &r->begun_room, sizeof *added) : NULL;
    if (added)
        *added = (begun_epoch){epoch, r->offset};
}

/* Where an epoch began to which a training went back, as from its last checkpoint: what lies behind is superseded, and no
 * more. */
static int64_t offset_of(reader *r, int64_t epoch)
{
    while (r->begun_count > 0 && r->begun[r->begun_count - 1].epoch > epoch)
        r->begun_count--;
    if (r->begun_count == 0)
        return 0;
    const begun_epoch *last = &r->begun[r->begun_count - 1];
    int64_t more = 0;
    return r->of > 0 && !__builtin_mul_overflow(epoch - last->epoch, r->of, &more) && more < METRICS_STEP_END
               ? last->offset + more
               : last->offset;
}

/* The step of a line of training whose own number is `raw`. */
static int64_t count_on(reader *r, step_kind kind, const metrics_said *s)
{
    const int64_t raw = unrounded(r, s->step[kind], s->value[kind]);
    const int64_t epoch = kind == EPOCH ? NOT_KNOWN : s->step[EPOCH] ? s->value[EPOCH] : r->said;
    r->falls += raw < r->raw && !(epoch > r->epoch);
    const bool counted = r->epoch != NOT_KNOWN || (!s->step[EPOCH] && r->kind != EPOCH);
    const bool anew = epoch > r->epoch && counted && raw <= r->raw && r->raw != NOT_KNOWN;
    if (anew && r->offset < METRICS_STEP_END) /* what lies beyond is no step, however many epochs are told */
        r->offset += r->of > 0 ? r->of : raw == 0 ? r->raw + r->gap : r->raw; /* from 0 on: one behind the last */
    else if (epoch < r->epoch && epoch != NOT_KNOWN)                          /* it began again */
        r->offset = offset_of(r, epoch);
    if (epoch != NOT_KNOWN && epoch != r->epoch && (r->begun_count == 0 || r->begun[r->begun_count - 1].epoch < epoch))
        note_begin(r, epoch);
    r->kind = kind;
    r->finer = kind != EPOCH;
    r->gap = anew ? 0 : raw > r->raw && r->raw != NOT_KNOWN ? raw - r->raw : r->gap;
    r->raw = raw;
    r->of = kind == ITERATION || kind == STEP || (kind == BATCH && !r->of_epoch) ? s->step[kind]->of : NOT_KNOWN;
    if (epoch != NOT_KNOWN)
        r->epoch = epoch;
    return r->last = r->offset + raw;
}

/* Does a line say the epoch of lines before it, or of those that follow, whose steps are within it? */
static bool is_beside_steps(reader *r, int64_t epoch)
{
    const bool beside = r->finer || (epoch == r->said && r->kind != EPOCH);
    r->said = epoch;
    r->finer = false;
    return beside;
}

/* Keras says the epoch on a line of its own, and behind it, at the end of the bar, what it came to. */
static bool ends_epoch(const reader *r, const metrics_said *s)
{
    return r->by_epoch && s->step[BATCH] && s->step[BATCH]->length == 0 && !s->step[BATCH]->listed && !s->step[EPOCH];
}

/* Is the line one of those that are counted? */
static bool counts(const reader *r)
{
    return metrics_figure_of(&r->pairs) == r->counted;
}

/* The step that the line's values belong to; NOT_KNOWN: to none. */
static int64_t step_of(reader *r, const metrics_said *s, bool aside)
{
    const step_kind kind = numbered(r, s);
    if (ends_epoch(r, s))
        return s->value[BATCH] == s->step[BATCH]->of ? r->last : NOT_KNOWN;
    const int64_t last = r->proven || r->header ? r->last : NOT_KNOWN;
    if (aside && (kind == STEP_KINDS || kind == BATCH || (kind == EPOCH && r->epoch != NOT_KNOWN)))
        return last;
    if (r->counted && !aside && (kind == EPOCH || kind == STEP_KINDS))
        return counts(r) ? (metrics_add(r->log, METRICS_STEPS_BY_ORDER), r->last = ++r->rows) : r->last;
    if (kind == EPOCH && !r->pairs.object && is_beside_steps(r, s->value[EPOCH]))
        return last;
    if (kind != STEP_KINDS && aside) {
        const int64_t own = s->value[kind] + r->offset;
        return lacks_finer_step(r, s) && own < last ? last : own;
    }
    if (kind != STEP_KINDS)
        return count_on(r, kind, s);
    if (r->pairs.object && s->loss && s->epoch) {
        metrics_add(r->log, METRICS_STEPS_BY_ORDER);
        return r->last = ++r->rows;
    }
    return last;
}

static int put_pairs(reader *r, const metrics_said *s, int64_t step, int mode)
{
    const step_kind kind = numbered(r, s);
    int status = ASSAY_OK;
    for (size_t i = 0; i < r->pairs.count && status == ASSAY_OK; i++) {
        const metrics_pair *pair = &r->pairs.list[i];
        const bool counted = r->counted && kind == EPOCH; /* then the epoch is a figure, and no step */
        if (metrics_is_no_tag(pair) || (kind != STEP_KINDS && !counted && pair == s->step[kind]) ||
            (pair == s->step[BATCH] && pair->of >= 0))
            continue;
        int64_t same = 0;
        if (kind != STEP_KINDS && !counted && metrics_kind_of_step(pair, &same) == kind && same == s->value[kind])
            continue; /* "step=7 ... step=7" */
        const bool own = mode != ASSAY_MODE_GLOBAL && metrics_mode_of(pair->name, pair->length) != ASSAY_MODE_TRAIN;
        const bool epoch = pair == s->step[EPOCH];
        const bool train = mode != ASSAY_MODE_GLOBAL && (pair->mode == ASSAY_MODE_TRAIN || metrics_says_train(pair));
        const int of_part = train ? 0 : mode == 0 ? pair->mode : mode;
        const bool plain = epoch && !metrics_is_episode(pair);
        status = metrics_put(r->log, plain ? "epoch" : pair->name, plain ? 5 : pair->length,
                             own && !epoch ? 0 : of_part, step, pair->value);
    }
    for (uint64_t i = 0; i < r->pairs.left; i++)
        metrics_add(r->log, METRICS_OTHER_VALUES);
    return status;
}

/* A few words in short, as GPT-2 trainings in C print them: "s:10 trl:3.2 lr:0.0006 norm:1.2", "s:20 tel:3.4". Is it such a line? */
static bool spell_out(metrics_pairs *pairs)
{
    static const struct {
        const char *word, *name;
    } words[] = {{"s", "step"}, {"trl", "train loss"}, {"tel", "val loss"}};
    if (pairs->count < 2 || pairs->object || pairs->list[0].length != 1 || *pairs->list[0].name != 's' ||
        !pairs->list[0].set)
        return false;
    for (size_t i = 0; i < pairs->count; i++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            if (pairs->list[i].length == strlen(words[w].word) &&
                memcmp(pairs->list[i].name, words[w].word, pairs->list[i].length) == 0) {
                pairs->list[i].name = words[w].name;
                pairs->list[i].length = strlen(words[w].name);
            }
    return true;
}

/* Takes the line's pairs. False: it is none of values; *known: but the names of columns. Else *known: all of them are figures
 * of a training. */
static bool take_pairs(reader *r, const char *line, size_t length, bool code, bool *known)
{
    *known = false;
    if (r->json)
        return metrics_pairs_take_json(&r->pairs, &r->pull, line, length);
    if (length > 2 && line[0] == '{' && line[1] == '"' && metrics_pairs_take_json(&r->pairs, &r->pull, line, length))
        return true;
    if (metrics_kaldi_take(&r->pairs, line, length))
        return *known = true;
    if (!code && metrics_columns_open(&r->columns, line, length, metrics_is_step, metrics_is_figure)) {
        *known = true;
        return false;
    }
    if (!code && metrics_darknet_take(&r->pairs, line, length))
        return true;
    if (code || !metrics_columns_take(&r->columns, &r->pairs, line, length)) {
        metrics_pairs_take(&r->pairs, line, length);
        *known = spell_out(&r->pairs);
    }
    return true;
}

/* Takes the rows of a box, which are one record, at the border below them. */
static int take_box(reader *r)
{
    metrics_pairs_clear(&r->pairs);
    for (size_t i = 0; i < r->boxed.pairs.count; i++)
        metrics_pairs_add(&r->pairs, &r->boxed.pairs.list[i]);
    r->pairs.left = r->boxed.pairs.left;
    metrics_said s = metrics_said_of(&r->pairs, false);
    const step_kind kind = metrics_numbered_by(&s, false);
    for (size_t i = 0; i < r->pairs.count; i++)
        s.figure = s.figure || metrics_names_mode(&r->pairs.list[i]);
    int status = ASSAY_OK;
    if (kind != STEP_KINDS && kind != BATCH && s.figure) {
        r->proven = true;
        status = put_pairs(r, &s, count_on(r, kind, &s), 0);
    } else {
        for (size_t i = 0; i < r->pairs.count; i++)
            metrics_unknown(r->log, r->pairs.list[i].name, r->pairs.list[i].length);
    }
    metrics_boxed_clear(&r->boxed);
    return status;
}

/* A line, or what a bar of progress wrote over itself. 1: nothing is known of it. */
static int take_part(reader *r, const char *line, size_t length)
{
    if (!r->json && metrics_boxed_take(&r->boxed, line, length))
        return ASSAY_OK;
    if (r->boxed.pairs.count > 0 && metrics_is_boxed_border(line, length))
        return take_box(r);
    const bool code = !r->json && metrics_is_code(line, length);
    bool known = false;
    if (!take_pairs(r, line, length, code, &known))
        return known ? ASSAY_OK : 1;
    metrics_said s = metrics_said_of(&r->pairs, r->numbered);
    if (r->nested && !s.step[EPOCH]) {
        s.step[EPOCH] = s.step[ITERATION];
        s.value[EPOCH] = s.value[ITERATION];
        s.step[ITERATION] = NULL;
    }
    if (r->of_epoch && !s.step[EPOCH] && s.step[BATCH] && s.step[BATCH]->length > 0 && s.step[BATCH]->of >= 0) {
        s.step[EPOCH] = s.step[BATCH];
        s.value[EPOCH] = s.value[BATCH];
        s.value[BATCH] = s.step[BATCH]->of;
    }
    if (r->json && r->pairs.data &&
        !(s.loss &&
          metrics_numbered_by(&s, true) != STEP_KINDS)) /* a sample; what a step has beside its loss is none */
        return 1;
    if (code && !known && !(s.loss && metrics_numbered_by(&s, false) <= STEP))
        return 1;
    /* a file of rows has rows of other figures, too: detectron2's last one has those of the evaluation alone */
    s.figure = s.figure || known || (r->json && r->proven && metrics_numbered_by(&s, true) != STEP_KINDS);
    const bool header = r->header;
    const bool validation = (r->pairs.object && is_row_of_validation(&r->pairs)) || lacks_finer_step(r, &s);
    const bool aside = s.eval || s.predict || validation || s.closing;
    if (r->proving)
        metrics_evidence_note(&r->evidence, &r->pairs, &s, aside, metrics_is_item(line, length));
    r->header = false;
    if (!s.figure) { /* "Epoch 3/10", "[step=10/100,epoch=0]": what follows belongs to it */
        const step_kind kind = r->pairs.object || aside ? STEP_KINDS : metrics_numbered_by(&s, false);
        if (kind == STEP_KINDS || kind == NUMBERED || (kind == BATCH && s.step[BATCH]->length == 0)) {
            r->header = header && kind == STEP_KINDS && r->pairs.count > 0;
            return 1;
        }
        r->by_epoch = kind == EPOCH;
        r->header = true;
        r->aside = 0;
        if (kind != EPOCH || !is_beside_steps(r, s.value[EPOCH]))
            count_on(r, kind, &s);
        return 1;
    }
    r->header = header;
    const int64_t step = step_of(r, &s, aside);
    const step_kind kind = numbered(r, &s);
    if (step == NOT_KNOWN)
        return 1;
    const bool row = r->pairs.object && s.epoch; /* of a dictionary, which says itself of what it is */
    if (aside || row || (kind != STEP_KINDS && !ends_epoch(r, &s)) || (r->counted && counts(r)))
        r->aside = s.closing              ? ASSAY_MODE_GLOBAL
                   : s.eval || validation ? ASSAY_MODE_EVAL
                   : s.predict            ? ASSAY_MODE_PREDICT
                                          : 0;
    r->proven = r->proven || s.loss || (kind == BATCH && s.step[BATCH]->length > 0 && s.step[EPOCH]) ||
                (kind != BATCH && kind != EPOCH && kind != STEP_KINDS);
    metrics_unread(r->log, r->pairs.losses_left, line, length);
    return put_pairs(r, &s, step, r->aside);
}

/* "[rank3]:" before a line says who printed it. */
static int take_rank(reader *r, const char *line, size_t length)
{
    static const char word[] = "[rank";
    const char *p = line + sizeof word - 1, *end = line + length;
    char worker[32];
    int64_t rank = 0;
    if (length < sizeof word || memcmp(line, word, sizeof word - 1) != 0 || !metrics_take_digits(&p, end, &rank) ||
        p == end || *p != ']' || rank < 0)
        return ASSAY_OK;
    snprintf(worker, sizeof worker, "worker_%lld", (long long)rank);
    return metrics_set_worker(r->log, worker);
}

/* A line as a whole. 1: nothing is known of it. */
static int take_line(reader *r, const char *line, size_t length)
{
    const char *end = line + length;
    int taken = 1;
    ASSAY_TRY(take_rank(r, line, length));
    while (line < end) {
        const char *p = line;
        while (p < end && *p != '\r' && *p != '\b')
            p++;
        const int status = p > line ? take_part(r, line, (size_t)(p - line)) : 1;
        if (status < 0 || status > 1)
            return status;
        taken = status == ASSAY_OK ? ASSAY_OK : taken;
        line = p + 1;
    }
    return taken;
}

enum { HELD_LINES = 256, HELD_BYTES = 64 << 10 };

static const char *behind_blanks(const char *line, const char *end)
{
    while (line < end && *line == ' ')
        line++;
    return line;
}

/* Does a dictionary begin in the line that does not end there: "... {'loss': 2.5,"? */
static bool opens_dictionary(const char *line, size_t length)
{
    const char *end = line + length, *open = memrchr(line, '{', length);
    const char *first = open ? behind_blanks(open + 1, end) : end;
    while (end > line && end[-1] == ' ')
        end--;
    return open && !memchr(open, '}', (size_t)(line + length - open)) &&
           (first >= end || ((*first == '\'' || *first == '"') && end[-1] == ','));
}

/* Takes the lines that are held, as one. */
static int take_held(reader *r)
{
    if (r->held.size == 0)
        return ASSAY_OK;
    ASSAY_TRY(assay_buf_status(&r->held));
    const int status = take_line(r, (const char *)r->held.data, r->held.size);
    if (status == 1)
        metrics_unknown(r->log, (const char *)r->held.data, r->held.size);
    assay_buf_clear(&r->held);
    return status == 1 ? ASSAY_OK : status;
}

/* Dictionaries are printed in lines of a member each, too: such lines are one. */
static int take(void *context, const char *line, size_t length)
{
    reader *r = context;
    metrics_strip_colours(&r->plain, &line, &length);
    const char *end = line + length, *first = behind_blanks(line, end);
    if (r->json)
        return take_line(r, line, length);
    if (r->held.size > 0 && first < end && strchr("'\"}", *first) && r->lines < HELD_LINES &&
        r->held.size < HELD_BYTES) {
        assay_put_u8(&r->held, ' ');
        assay_put_bytes(&r->held, first, (size_t)(end - first));
        r->lines++;
        return memchr(first, '}', (size_t)(end - first)) ? take_held(r) : ASSAY_OK;
    }
    ASSAY_TRY(take_held(r)); /* it did not go on */
    if (!opens_dictionary(line, length))
        return take_line(r, line, length);
    assay_put_bytes(&r->held, line, length);
    r->lines = 1;
    return ASSAY_OK;
}

/* Does the file begin as an object of JSON does? Dictionaries that Python prints have other quotes. */
static bool begins_with_json(assay_store *store, const char *path)
{
    char head[2] = "";
    return assay_store_read_head(store, path, head, sizeof head) == sizeof head && head[0] == '{' &&
           (head[1] == '"' || head[1] == ' ');
}

/* The columns of a results.txt, as YOLO's trainings wrote it without a header before they had results.csv. */
static const char RESULTS[] =
    "Epoch\tgpu_mem\ttrain/box_loss\ttrain/obj_loss\ttrain/cls_loss\ttrain/total_loss\tlabels\timg_size\t"
    "metrics/precision\tmetrics/recall\tmetrics/mAP_0.5\tmetrics/mAP_0.5-0.95\t"
    "val/box_loss\tval/obj_loss\tval/cls_loss";

/* Lines of a step and a number, without names, in a file that is called after a loss ("loss.txt"): opens such columns. */
static void open_unnamed(reader *r, const char *path)
{
    char head[257], names[128];
    double step = 0, value = 0;
    const char *name = metrics_base(path);
    const size_t stem = metrics_stem(path) - (size_t)(name - path);
    if (!metrics_is_printed_name(name) || !metrics_is_loss(name, stem) || stem > sizeof names / 2)
        return;
    const size_t got = assay_store_read_head(r->log->store, path, head, sizeof head - 1);
    head[got] = '\0';
    const char *end = memchr(head, '\n', got), *between = end ? head + strcspn(head, " ,\t") : NULL;
    if (!end || between >= end || !metrics_number(head, (size_t)(between - head), &step) || step < 0 ||
        step != trunc(step) || memchr(head, '.', (size_t)(between - head)))
        return;
    const char *number = between + strspn(between, " ,\t");
    size_t length = number < end ? (size_t)(end - number) : 0;
    metrics_trim(&number, &length);
    if (!metrics_number(number, length, &value))
        return;
    snprintf(names, sizeof names, "step%c%.*s", *between == ' ' ? '\t' : *between, (int)stem, name);
    if (metrics_columns_open(&r->columns, names, strlen(names), metrics_is_step, metrics_is_figure))
        r->columns.between = *between;
}

static reader *reader_new(metrics_log *log, const char *path)
{
    reader *r = assay_alloc_zeroed(1, sizeof *r);
    if (!r)
        return NULL;
    r->log = log;
    r->raw = r->of = r->epoch = r->said = r->last = NOT_KNOWN;
    metrics_evidence_begin(&r->evidence);
    r->kind = STEP_KINDS;
    r->json = metrics_is_row_name(metrics_base(path)) ||
              (!metrics_is_printed_name(path) && begins_with_json(log->store, path));
    metrics_boxed_clear(&r->boxed);
    if (strcmp(metrics_base(path), "results.txt") == 0)
        r->columns.between =
            metrics_columns_open(&r->columns, RESULTS, sizeof RESULTS - 1, metrics_is_step, metrics_is_figure) ? ' '
                                                                                                               : 0;
    open_unnamed(r, path);
    log->falls = true;
    assay_buf_init(&r->plain, SIZE_MAX);
    assay_buf_init(&r->held, SIZE_MAX);
    return r;
}

static void reader_free(reader *r)
{
    if (r) {
        assay_pull_release(&r->pull);
        assay_buf_release(&r->plain);
        assay_buf_release(&r->held);
        free(r->begun);
    }
    free(r);
}

/* Goes on until the first line that proves the file, or that none will. */
static int take_proof(void *context, const char *line, size_t length)
{
    reader *r = context;
    r->proving = true;
    const int taken = take(context, line, length);
    const bool enough = r->json && r->log->counts[METRICS_LINES] >= METRICS_ROWS_LOOKED_AT;
    return enough || metrics_evidence_decides(&r->evidence, r->proven && !r->json) ? METRICS_ENOUGH : taken;
}

/* Is the file one JSON value with the course of a training in it? 0 or a status. */
static int prove_document(reader *r, const char *path, metrics_proof *out, assay_error *err)
{
    uint64_t losses = 0;
    *out = (metrics_proof){.by = NO_PROOF};
    if (metrics_is_printed_name(metrics_base(path)) || !metrics_may_be_document(r->log->store, path))
        return ASSAY_OK;
    const bool lines = r->json;
    r->json = r->proving = true;
    assay_error why = {{0}};
    const int status = metrics_document_read(r->log, path, take, r, &losses, &why);
    if (status >= 0) { /* 0: what stands before the damage proves it, or nothing does */
        *out = metrics_evidence_proof(&r->evidence, r->proven, r->json, r->falls);
        out->by = losses > 1 ? BY_ORDER : out->by;
        out->epochs = out->epochs || metrics_evidence_has_epochs(&r->evidence);
        out->document = true;
    }
    r->json = lines;
    return status < 0 ? assay_fail(err, status, "%s", why.text) : ASSAY_OK;
}

/* What proves the file. 0 or a status. */
static int prove(assay_store *store, const char *path, metrics_proof *out, assay_error *err)
{
    assay_problems problems;
    metrics_log log;
    assay_problems_init(&problems);
    int status = metrics_log_init(&log, store, NULL, &problems);
    reader *r = status == ASSAY_OK ? reader_new(&log, path) : NULL;
    status = r ? prove_document(r, path, out, err) : ASSAY_ENOMEM;
    if (status == ASSAY_OK && out->by == NO_PROOF) {
        reader_free(r);
        r = reader_new(&log, path);
        status = r ? metrics_read_lines(&log, path, take_proof, r, err) : ASSAY_ENOMEM;
        if (status >= 0)
            *out = metrics_evidence_proof(&r->evidence, r->proven, r->json, r->falls);
    }
    reader_free(r);
    metrics_log_release(&log);
    assay_problems_release(&problems);
    return status < 0 ? status : ASSAY_OK;
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    metrics_proof found = {.by = NO_PROOF};
    const int status = prove(store, file->path, &found, err);
    return status != ASSAY_OK ? status : found.by != NO_PROOF;
}

static bool named(const char *name)
{
    return metrics_is_printed_name(name) || metrics_is_row_name(name);
}

/* Files of a directory may be ranks, attempts or other trainings: nobody knows, and no value is dropped. */
static int divide(metrics_place *p, assay_error *err)
{
    size_t files = 0;
    (void)err;
    for (size_t i = 0; i < p->count; i++)
        files += p->files[i].kind == METRICS_PRINTED;
    for (size_t i = 0; i < p->count; i++) {
        char name[ASSAY_PATH_ROOM];
        const char *path = p->files[i].path;
        if (p->files[i].kind != METRICS_PRINTED)
            continue;
        snprintf(name, sizeof name, "%s", files == 1 ? "." : path);
        metrics_run *run = metrics_place_run_of(p, path, name, NULL);
        if (!run || metrics_run_add_file(run, &p->files[i]) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

static int read_document(reader *r, const char *path, assay_error *err)
{
    uint64_t losses = 0;
    assay_error why = {{0}};
    r->json = true;
    const int status = metrics_document_read(r->log, path, take, r, &losses, &why);
    if (status == 0)
        assay_problems_add(r->log->problems, ASSAY_PROBLEM_RECORD, -1, path, -1,
                           "%s: its JSON is damaged or cut off (%s); what stands behind is missing from this analysis",
                           path, why.text);
    return status < 0 ? assay_fail(err, status, "%s", why.text) : status == 1 ? ASSAY_OK : status;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    (void)place;
    int status = ASSAY_OK;
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        const char *path = run->files[i]->path;
        reader *r = reader_new(log, path);
        log->part = (uint32_t)i;
        metrics_proof found = {.by = NO_PROOF};
        status = r ? prove(log->store, path, &found, err) : ASSAY_ENOMEM;
        if (status == ASSAY_OK) {
            r->numbered = found.by == BY_NUMBER;
            r->counted = found.counted;
            r->epochs = found.epochs;
            r->nested = found.nested;
            r->of_epoch = found.of_epoch;
            log->output = log->output || !(found.document || r->json);
            status = found.document ? read_document(r, path, err) : metrics_read_lines(log, path, take, r, err);
        }
        if (status == ASSAY_OK && r->held.size > 0)
            metrics_add(log, METRICS_GROWING);
        if (status == ASSAY_OK && r->boxed.pairs.count > 0) /* the file ends before the border does, or is cut there */
            status = take_box(r);
        reader_free(r);
    }
    return status;
}

const metrics_kind metrics_printout = {
    .name = "printed", .named = named, .proven = proven, .divide = divide, .read = read};
