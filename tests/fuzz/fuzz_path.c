/* Any bytes as a path that foreign data give: what is taken for inside, a walk from part to part never leaves, and
 * finds each directory by one name only. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    const bool inside = assay_path_is_inside((const char *)data, size),
               name = assay_path_is_name((const char *)data, size);
    must(!name || inside);
    must(!inside || (strlen(text) == size && size > 0 && size <= ASSAY_PATH_MOST && text[0] != '/'));
    int depth = 0;
    size_t parts = 0, slashes = 0;
    for (size_t i = 0; inside && i < size; i++)
        slashes += text[i] == '/';
    char *rest = NULL;
    for (char *part = strtok_r(text, "/", &rest); inside && part; part = strtok_r(NULL, "/", &rest)) {
        depth += strcmp(part, "..") == 0 ? -1 : strcmp(part, ".") != 0;
        must(depth == (int)++parts); /* neither up nor on the spot */
    }
    must(!inside || parts == slashes + 1);
    must(name == (inside && slashes == 0));
    free(text);
    return 0;
}
