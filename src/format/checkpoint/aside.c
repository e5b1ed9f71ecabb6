/* aside.c - see aside.h. */
#include "format/checkpoint/aside.h"

#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "format/checkpoint/files.h"

/* What people put behind or before the name of what they keep for a while, or do not trust. */
static const char *const ASIDE[] = {"old",      "bak",    "backup",  "orig",    "copy",      "prev",
                                    "previous", "broken", "bad",     "corrupt", "corrupted", "damaged",
                                    "failed",   "trash",  "deleted", "unused",  "wrong",     "nan"};

/* Is it such a word, of this length? */
static bool is_aside(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof ASIDE / sizeof *ASIDE; i++)
        if (strlen(ASIDE[i]) == length && strncasecmp(word, ASIDE[i], length) == 0)
            return true;
    return false;
}

/* Does something stand behind a name at `at`, as where a checkpoint was put aside ("checkpoint-300~",
 * "checkpoint-300-backup") or is being copied ("checkpoint-300.Ab12Cd")? Epochs may have a fraction. */
static bool ends_aside(const char *name, size_t at)
{
    static const char DIGITS[] = "0123456789";
    const char *behind = name + at + 1;
    size_t length = strcspn(behind, DIGITS);
    if (strchr(".~ ", name[at]))
        return !*behind || behind[strspn(behind, DIGITS)];
    while (length > 0 && strchr("-_", behind[length - 1])) /* "-backup-2" */
        length--;
    return strchr("-_", name[at]) && is_aside(behind, length);
}

bool assay_ckpt_is_of_series(const assay_trial_options *options, const char *name, const assay_dict *forms,
                             assay_buf *form)
{
    int64_t step = 0;
    assay_buf_clear(form);
    assay_path_put_series(name, form);
    return assay_buf_status(form) == ASSAY_OK && assay_ckpt_step(options, name, &step) &&
           assay_dict_find(forms, (const char *)form->data, form->size) != ASSAY_NO_ID;
}

bool assay_ckpt_is_put_aside(const assay_trial_options *options, const char *name, const assay_dict *forms,
                             assay_buf *form)
{
    for (size_t at = strlen(name); at-- > 1;) {
        char before[ASSAY_PATH_ROOM];
        if (at >= sizeof before || !ends_aside(name, at))
            continue;
        memcpy(before, name, at);
        before[at] = '\0';
        if (assay_ckpt_is_of_series(options, before, forms, form))
            return true;
    }
    const size_t first = strcspn(name, "-_. "); /* "old_checkpoint-300" */
    return name[first] && is_aside(name, first) && assay_ckpt_is_of_series(options, name + first + 1, forms, form);
}
