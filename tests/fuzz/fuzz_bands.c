/* Any bytes as a file of bands, as they are and with the right digest behind them: refused with a message that names
 * the file, or bands in order whose numbers can be relied on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/compare/bands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_band(const assay_band *band)
{
    must(band->figure >= 0 && band->figure < ASSAY_BAND_FIGURES && assay_mode_name(band->mode)[0] && band->steps > 0);
    for (size_t i = 0; i < band->steps; i++) {
        const double *quantile = band->quantile + i * ASSAY_BAND_QUANTILES;
        must(i == 0 || band->step[i - 1] < band->step[i]);
        for (int q = 0; q < ASSAY_BAND_QUANTILES; q++)
            must(isfinite(quantile[q]) && (q == 0 || quantile[q - 1] <= quantile[q]));
    }
}

static void parse(const void *text, size_t size)
{
    assay_bands bands;
    assay_error err = {""};
    int status = assay_bands_parse("f", text, size, &bands, &err);
    if (status != ASSAY_OK) {
        must(status == ASSAY_EFORMAT && err.text[0] == 'f' && bands.band == NULL);
        return;
    }
    for (size_t i = 0; i < bands.count; i++) {
        check_band(&bands.band[i]);
        must(i == 0 || bands.band[i - 1].figure <= bands.band[i].figure);
    }
    assay_bands_release(&bands);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char hex[65];
    assay_sha256 hash;
    assay_buf text;
    parse(data, size);
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, data, size);
    assay_sha256_hex(&hash, hex);
    assay_buf_init(&text, SIZE_MAX);
    assay_put_bytes(&text, data, size);
    assay_put_format(&text, " \"sha256\": \"%s\"}\n", hex);
    must(assay_buf_status(&text) == ASSAY_OK);
    parse(text.data, text.size);
    assay_buf_release(&text);
    return 0;
}
