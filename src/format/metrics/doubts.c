/* doubts.c - why files that are called like logs are none, for the message about a place that is no trial. */
#include <string.h>

#include "base/path.h"
#include "format/metrics/document.h"

#define CSV_NEEDS                                                                                                        \
    "a CSV that is a log has a column step, global_step, iteration, iter, _step or epoch, one more column, and a whole " \
    "number as step in one of its first ten rows; or a loss and nothing but numbers"

#define PRINTED_NEEDS                                                                                                  \
    "no line of it has a step and a loss, as trainings print them (\"step: 10 loss: 2.5\"), nor a table below such "   \
    "names, nor does a number that rises stand before its losses, and none is one of nvidia-dlfw-inspect's logs"

/* By the first kind whose files have such names. */
static const char *const WHY[METRICS_KINDS] = {
    [METRICS_HF] = "it is no JSON object with log_history",
    [METRICS_WANDB] = "it does not begin as files of W&B do (version 0)",
    [METRICS_MLFLOW] =
        "it is no SQLite database with MLflow's tables runs, metrics and experiments, and no meta.yaml of a run",
    [METRICS_TB] = "its first record is no event of TensorBoard",
    [METRICS_CSV] = CSV_NEEDS,
    [METRICS_MONITOR] = "it is no CSV of msprobe",
    [METRICS_DUMP] = "it is no JSON object with task and data",
    [METRICS_DLFW] = PRINTED_NEEDS,
    [METRICS_MEGATRON] = PRINTED_NEEDS,
    [METRICS_PRINTED] = PRINTED_NEEDS};

#define JSON_NEEDS                                                                                                     \
    "it has no key of a job file, and is no log in JSON: a trainer's state has log_history, other logs have a JSON "   \
    "object with a step and a loss on each line, or are a list of such objects, or an object of lists of numbers, a "  \
    "loss among them"
#define JSON_DAMAGED                                                                                                     \
    "it has no key of a job file, and is no log in JSON: it is damaged or cut off before a course of numbers; give the " \
    "whole file"
#define ROWS_NEED "none of its first 100 lines is a JSON object with a step and a loss"

/* Does the first line of a text have numbers alone, two or more? */
static bool is_of_numbers(assay_store *store, const char *path)
{
    char head[256];
    size_t numbers = 0;
    double value = 0;
    const char *end = memchr(head, '\n', assay_store_read_head(store, path, head, sizeof head));
    for (const char *p = head; end && p < end;) {
        const char *from = p;
        while (p < end && !strchr(" ,;\t\r", *p))
            p++;
        if (p > from && !metrics_number(from, (size_t)(p - from), &value))
            return false;
        numbers += p > from;
        p += p < end;
    }
    return numbers > 1;
}

const char *metrics_why_not(assay_store *store, const metrics_file *file)
{
    static const char pointer[] = "version https://git-lfs";
    char head[sizeof pointer - 1];
    if (file->size == 0)
        return "it is empty";
    const size_t got = assay_store_read_head(store, file->path, head, sizeof head);
    if (got == sizeof head && memcmp(head, pointer, sizeof head) == 0)
        return "it is a pointer of Git LFS: fetch the file itself (git lfs pull)";
    if (file->named == 0 && assay_path_ends(file->path, ".json"))
        return metrics_is_whole_json(store, file->path) ? JSON_NEEDS : JSON_DAMAGED;
    if (got > 0 && is_of_numbers(store, file->path))
        return "it has numbers alone, and no names: a line of names above them (step,loss) makes a log of it";
    int kind = 0;
    while (kind < METRICS_KINDS - 1 && !(file->named >> kind & 1))
        kind++;
    return metrics_is_row_name(metrics_base(file->path)) ? ROWS_NEED : WHY[kind];
}

bool metrics_doubts(assay_store *store, assay_buf *out)
{
    metrics_place place;
    const metrics_file *first = NULL;
    size_t count = 0;
    const bool listed = metrics_place_read(store, -1, &place, NULL) == ASSAY_OK;
    for (size_t i = 0; i < place.count && listed; i++)
        if (place.files[i].kind < 0 && strcmp(metrics_base(place.files[i].path), "meta.yaml") != 0) {
            first = first ? first : &place.files[i];
            count++;
        }
    if (count > 1)
        assay_put_format(out, "%zu files are called like logs, and none is one; ", count);
    if (first)
        assay_put_format(out, "%.200s: %s", first->path, metrics_why_not(store, first));
    const char *unread = assay_problems_unread(&place.problems); /* nobody knows what that is */
    if (unread)
        assay_store_note(store, "", unread);
    metrics_place_release(&place);
    return first != NULL;
}
