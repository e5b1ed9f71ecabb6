/* Any bytes as a log of actions: whole lines are taken in, in whatever pieces they come, and no key is made up. */
#include <stdlib.h>
#include <string.h>

#include "action/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const assay_audit_key keys[] = {{{"cancel 7"}, 1}, {{"end", "x", "y"}, 3}, {{"never\x01written"}, 1}};
    const char *text = (const char *)data, *half = size ? memchr(text + size / 2, '\n', size - size / 2) : NULL;
    size_t first = half ? (size_t)(half - text) + 1 : 0, taken = 0;
    assay_audit *whole = assay_audit_new(NULL), *pieces = assay_audit_new(NULL);
    must(whole && pieces);
    must(assay_audit_take(whole, text, size, &taken) == ASSAY_OK);
    must(taken <= size && (taken == 0 || text[taken - 1] == '\n'));
    must(taken == size || !memchr(text + taken, '\n', size - taken));
    must(assay_audit_take(pieces, text, first, &taken) == ASSAY_OK && taken == first);
    must(assay_audit_take(pieces, text + first, size - first, &taken) == ASSAY_OK);
    must(assay_audit_strangers(whole) == assay_audit_strangers(pieces));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        must(assay_audit_has(whole, &keys[i]) == assay_audit_has(pieces, &keys[i]));
    assay_audit_free(whole);
    assay_audit_free(pieces);
    return 0;
}
