/* Any bytes as the tables of a packed trial: what passes the check can be looked up and listed to the last row. */
#include <stdlib.h>
#include <string.h>

#include "store/packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next `count` rows, copied so that they are aligned and end where they end. */
static void *take(const uint8_t **data, size_t *size, size_t row, uint64_t *count)
{
    size_t wanted = *size > 0 ? (*data)[0] % 32 : 0;
    *data += *size > 0;
    *size -= *size > 0;
    wanted = wanted * row <= *size ? wanted : *size / row;
    void *rows = malloc(wanted * row + 1);
    if (!rows)
        abort();
    memcpy(rows, *data, wanted * row);
    *data += wanted * row;
    *size -= wanted * row;
    *count = wanted;
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_packed p = {0};
    p.files = take(&data, &size, sizeof *p.files, &p.file_count);
    p.parts = take(&data, &size, sizeof *p.parts, &p.part_count);
    p.tensors = take(&data, &size, sizeof *p.tensors, &p.tensor_count);
    p.sums = take(&data, &size, sizeof *p.sums, &p.sum_count);
    p.tensor_names = take(&data, &size, 1, &p.tensor_name_bytes);
    p.names = take(&data, &size, 1, &p.name_bytes);
    p.bytes = p.sum_count * (uint64_t)ASSAY_PACKED_BLOCK;
    p.entries = size;
    if (assay_packed_check(&p, "f", NULL) == ASSAY_OK) {
        for (uint64_t i = 0; i < p.file_count; i++) {
            char name[64] = "";
            memcpy(name, p.names + p.files[i].name_at, p.files[i].name_length);
            const assay_packed_file *found = assay_packed_find(&p, name);
            if (found != (p.files[i].kind == ASSAY_PACKED_DIRECTORY ? NULL : &p.files[i]))
                abort();
            assay_names names = {0};
            if (assay_packed_list(&p, name, &names, NULL) == ASSAY_OK)
                assay_names_release(&names);
        }
        for (uint64_t i = 0; i < p.part_count; i++)
            if (assay_packed_find_part(&p, p.parts[i].step, p.parts[i].worker) != &p.parts[i])
                abort();
    }
    assay_packed_release(&p);
    return 0;
}
