/* line.c - a judgement in one line, and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"
#include "report/text/listing.h"
#include "verify/verify.h"

enum { MODELS_SAID = 8 };

typedef struct totals {
    size_t files, tensors;
    uint64_t bytes;
} totals;

static totals count(const assay_verification *j)
{
    totals t = {0};
    for (size_t i = 0; i < j->files; i++) {
        const assay_verify_file *f = &j->file[i];
        if (f->state == ASSAY_VERIFY_NOTE && f->tensors == 0) /* what was not read is no part of the answer */
            continue;
        t.files++;
        t.tensors += f->tensors;
        t.bytes += f->bytes;
    }
    return t;
}

static void put_totals(const assay_verification *j, assay_buf *out)
{
    const totals t = count(j);
    size_t notes = 0, bare = 0;
    for (size_t i = 0; i < j->files; i++) {
        notes += j->file[i].state == ASSAY_VERIFY_NOTE;
        bare += j->file[i].bare > 0 && j->file[i].summed == 0 && !j->file[i].sealed;
    }
    assay_put_format(out, "%zu file%s of %zu %s%s, %zu tensor%s, ", t.files, assay_plural(t.files), j->steps,
                     j->records ? "recorded step" : "checkpoint", assay_plural(j->steps), t.tensors,
                     assay_plural(t.tensors));
    assay_text_put_bytes(out, t.bytes);
    if (bare > 0)
        assay_put_format(out, "; %zu file%s neither checksum nor seal, which other numbers would show", bare,
                         bare == 1 ? " has" : "s have");
    if (notes > 0)
        assay_put_format(out, "; see %zu note%s", notes, assay_plural(notes));
}

/* What is wrong with the checkpoints [from, to): "; 400: NaN in 5 tensors". */
static void put_faults(const assay_verification *j, size_t from, const char *between, assay_buf *out)
{
    enum { MOST = 8 };
    size_t said = 0, more = 0;
    for (size_t i = from; i < j->steps; i++) {
        if (!j->step[i].why)
            continue;
        if (said == MOST) {
            more++;
            continue;
        }
        assay_put_format(out, "%s%" PRId64 ": %s", said++ ? "; " : between, j->step[i].step, j->step[i].why);
    }
    if (more > 0)
        assay_put_format(out, "; and %zu more", more);
}

static size_t count_bad(const assay_verification *j, size_t to)
{
    size_t bad = 0;
    for (size_t i = 0; i < to; i++)
        bad += j->step[i].why != NULL;
    return bad;
}

/* A checkpoint by itself: there is none other to resume from. */
static void put_lone(const assay_verification *j, assay_buf *out)
{
    if (j->state == ASSAY_VERIFY_SOUND) {
        assay_put_format(out, "sound: ");
        put_totals(j, out);
        return;
    }
    const char *why = j->steps > 0 && j->step[j->steps - 1].why ? j->step[j->steps - 1].why : j->unnumbered;
    const char *word = assay_verify_word(j->state);
    const size_t end = why ? strlen(why) : 0;
    const bool said = why && strncmp(why, word, strlen(word)) == 0 && why[end - 1] == ')';
    if (said) /* "damaged (what is wrong)" is put as "damaged: what is wrong" */
        assay_put_format(out, "%s: %.*s", word, (int)(end - strlen(word) - 3), why + strlen(word) + 2);
    else
        assay_put_format(out, "%s: %s", word, why ? why : "");
}

/* Is the checkpoint that the framework would pick sound? */
static bool picks_sound(const assay_verification *j)
{
    for (size_t i = 0; i < j->steps; i++)
        if (strcmp(j->step[i].name, j->pick) == 0)
            return j->step[i].state == ASSAY_VERIFY_SOUND;
    return false;
}

/* Models that lie side by side: none of them follows another. */
static void put_models(const assay_verification *j, assay_buf *out)
{
    size_t bad = 0, said = 0;
    for (size_t i = 0; i < j->steps; i++)
        bad += j->step[i].why != NULL;
    if (j->unnumbered) {
        assay_put_format(out, "%s: %s", assay_verify_word(j->state), j->unnumbered);
        if (bad > 0)
            assay_put_format(out, "; %zu of %zu models %s not sound", bad, j->steps, bad == 1 ? "is" : "are");
        return;
    }
    if (bad == 0) {
        assay_put_format(out, "sound: %zu models; ", j->steps);
        put_totals(j, out);
        return;
    }
    assay_put_format(out, "%s: %zu of %zu models", assay_verify_word(j->state), bad, j->steps);
    for (size_t i = 0; i < j->steps && said < MODELS_SAID; i++)
        if (j->step[i].why) {
            said++;
            assay_put_format(out, "; %s: %s", j->step[i].name, j->step[i].why);
        }
}

/* What a training recorded of itself: nothing is resumed from it. */
static void put_records(const assay_verification *j, assay_buf *out)
{
    const size_t bad = count_bad(j, j->steps);
    assay_put_format(out, "%s: ", assay_verify_word(j->state));
    if (j->unnumbered)
        assay_put_format(out, "%s; ", j->unnumbered);
    if (bad > 0) {
        assay_put_format(out, "%zu of %zu recorded step%s", bad, j->steps, assay_plural(j->steps));
        put_faults(j, 0, "; ", out);
    } else {
        put_totals(j, out);
    }
    assay_put_format(out, "; records are no checkpoint to resume from");
}

void assay_verification_put_line(const assay_verification *j, assay_buf *out)
{
    const size_t newest = j->steps - 1, behind = (size_t)(j->last_sound + 1);
    if (j->models) {
        put_models(j, out);
        return;
    }
    if (j->records) {
        put_records(j, out);
        return;
    }
    if (!j->series && j->steps <= 1) {
        put_lone(j, out);
        return;
    }
    if (j->last_sound < 0) {
        assay_put_format(out, "nothing to resume from");
        if (j->steps > 0)
            put_faults(j, 0, "; ", out);
    } else if (behind == j->steps - 1 && j->step[newest].state == ASSAY_VERIFY_INCOMPLETE) {
        assay_put_format(out, "%s is not complete; resume from %s", j->step[newest].name, j->step[j->last_sound].name);
    } else {
        assay_put_format(out, "resume from %s", j->step[j->last_sound].name);
        put_faults(j, behind, "; ", out);
    }
    if (j->unnumbered)
        assay_put_format(out, "; %s", j->unnumbered);
    if (j->pick && !picks_sound(j))
        assay_put_format(out, "; %s would pick %s, and fail or go on from what is not sound",
                         assay_framework_word(j->of), j->pick);
    if (j->state == ASSAY_VERIFY_SOUND) {
        assay_put_format(out, "; sound: ");
        put_totals(j, out);
    }
    const size_t older = j->last_sound > 0 ? count_bad(j, (size_t)j->last_sound) : 0;
    if (older > 0)
        assay_put_format(out, "; %zu older one%s %s not sound", older, assay_plural(older), older == 1 ? "is" : "are");
}

static const assay_listing_column OF_STEPS[] = {{"step"}, {"name"}, {"state"}, {"text"}};
static const assay_listing_column OF_FILES[] = {{"file"},  {"step"},    {"state"},    {"tensors"},
                                                {"bytes"}, {"damaged"}, {"findings"}, {"text"}};

static void put_steps(const assay_verification *j, assay_listing *rows)
{
    for (const assay_verify_step *s = j->step; s < j->step + j->steps; s++) {
        assay_listing_next(rows);
        assay_listing_i64(rows, s->step);
        assay_listing_text(rows, s->name);
        assay_listing_text(rows, assay_verify_word(s->state));
        assay_listing_text(rows, s->why);
    }
    assay_listing_end(rows, 0, NULL);
}

static void put_files(const assay_verification *j, assay_listing *rows)
{
    for (const assay_verify_file *f = j->file; f < j->file + j->files; f++) {
        assay_listing_next(rows);
        assay_listing_text(rows, f->path);
        assay_listing_i64(rows, f->step);
        assay_listing_text(rows, assay_verify_word(f->state));
        assay_listing_u64(rows, f->tensors);
        assay_listing_u64(rows, f->bytes);
        assay_listing_u64(rows, f->losses);
        assay_listing_u64(rows, f->findings);
        assay_listing_text(rows, f->first);
    }
    assay_listing_end(rows, 0, NULL);
}

void assay_verification_put_csv(const assay_verification *j, assay_buf *out)
{
    assay_listing rows;
    assay_listing_begin(&rows, ASSAY_LISTING_CSV, ASSAY_LISTED(OF_FILES), out);
    put_files(j, &rows);
}

void assay_verification_put_json(const assay_verification *j, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_buf line;
    assay_listing rows;
    assay_buf_init(&line, 1 << 20);
    assay_verification_put_line(j, &line);
    assay_jw_object(&w, NULL);
    assay_jw_line(&w, 2);
    assay_jw_text(&w, "schema", "assay-verify/1");
    assay_jw_line(&w, 2);
    assay_jw_text(&w, "verdict", assay_verify_word(j->state));
    assay_jw_line(&w, 2);
    assay_jw_text(&w, "path", j->path);
    assay_jw_line(&w, 2);
    assay_jw_text_n(&w, "text", (const char *)line.data, line.size);
    assay_jw_line(&w, 2);
    const ptrdiff_t sound = j->records ? -1 : j->last_sound;
    assay_jw_text(&w, "last_sound", sound < 0 ? NULL : j->step[sound].name);
    assay_jw_line(&w, 2);
    if (sound < 0)
        assay_jw_null(&w, "last_sound_step");
    else
        assay_jw_i64(&w, "last_sound_step", j->step[sound].step);
    assay_jw_line(&w, 2);
    assay_jw_text(&w, "picks", j->pick);
    assay_jw_line(&w, 2);
    assay_jw_u64(&w, "checkpoints", j->steps);
    assay_jw_line(&w, 2);
    assay_jw_u64(&w, "damaged", j->losses);
    assay_jw_line(&w, 2);
    assay_jw_u64(&w, "findings", j->findings);
    assay_jw_line(&w, 2);
    assay_jw_array(&w, "steps");
    assay_listing_begin_in(&rows, &w, 4, ASSAY_LISTED(OF_STEPS));
    put_steps(j, &rows);
    assay_jw_line(&w, 2);
    assay_jw_end(&w);
    assay_jw_line(&w, 2);
    assay_jw_array(&w, "files");
    assay_listing_begin_in(&rows, &w, 4, ASSAY_LISTED(OF_FILES));
    put_files(j, &rows);
    assay_jw_line(&w, 2);
    assay_jw_end(&w);
    assay_jw_line(&w, 0);
    assay_jw_end(&w);
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}
