/* origin.c - see origin.h.
 *
 * Partitions of an optimizer that are swapped between ranks have the same shapes and no name of a rank inside: a training
 * that resumes from them goes on with the moments of other parameters. */
#include "verify/origin.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"

/* What the numbers behind them count is a place: whatever counts in time is renamed by trainings that keep the last few files. */
static const char *const PLACES[] = {"rank",    "rng_state_", "random_states_", "layer_",
                                     "expert_", "stage_",     "worker",         "shard"};

/* Are the names those of two places: the same but for digits, and with a word that says so? */
static bool are_of_places(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const char *const a_end = a + a_size, *const b_end = b + b_size;
    bool place = false;
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
        place = place || memmem(a, a_size, PLACES[i], strlen(PLACES[i]));
    if (!place)
        return false;
    while (a < a_end || b < b_end) {
        const bool digit = a < a_end && assay_is_digit(*a);
        if (digit != (b < b_end && assay_is_digit(*b)) || (!digit && (a == a_end || b == b_end || *a != *b)))
            return false;
        a += !digit;
        b += !digit;
        while (digit && a < a_end && assay_is_digit(*a))
            a++;
        while (digit && b < b_end && assay_is_digit(*b))
            b++;
    }
    return true;
}

int assay_verify_origin(assay_store *store, const char *path, int64_t step, const char *entry,
                        assay_verify_remarks *remarks)
{
    const char *own = assay_path_name(path), *end = strrchr(own, '.'), *rest = strchr(entry, '/');
    char other[ASSAY_PATH_ROOM], text[3 * ASSAY_PATH_ROOM];
    if (!end || !rest || strcmp(rest, "/data.pkl") != 0)
        return ASSAY_OK; /* one of each file says it */
    const size_t own_size = (size_t)(end - own), size = (size_t)(rest - entry);
    if ((own_size == size && memcmp(own, entry, size) == 0) || !are_of_places(own, own_size, entry, size) ||
        snprintf(other, sizeof other, "%.*s%.*s%s", (int)(own - path), path, (int)size, entry, end) >=
            (int)sizeof other ||
        assay_store_exists(store, other, NULL) != 1)
        return ASSAY_OK;
    snprintf(
        text, sizeof text,
        "%s: it was written as %.*s%s, which lies beside it: what is resumed from them would have one another's part",
        path, (int)size, entry, end);
    return assay_verify_remark_add(remarks, ASSAY_VERIFY_SUSPECT, step, path, text);
}
