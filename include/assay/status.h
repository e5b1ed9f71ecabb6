/* status.h - the status that assay's functions return, and the text of a failure.
 *
 * Functions that can fail return 0 or a negative assay_status. Those that take an `assay_error *err` also leave one
 * sentence in it: what is wrong, where, and what to do. err may be NULL. After a failure out-parameters are unchanged.
 */
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, text) */
#define ASSAY_STATUS_LIST(X)                                                                                           \
    X(ASSAY_OK, 0, "success")                                                                                          \
    X(ASSAY_EUSAGE, -1, "wrong usage")                                                                                 \
    X(ASSAY_EJOB, -2, "error in the job file")                                                                         \
    X(ASSAY_ENOTFOUND, -3, "not found")                                                                                \
    X(ASSAY_EIO, -4, "input or output failed")                                                                         \
    X(ASSAY_EFORMAT, -5, "damaged or foreign data")                                                                    \
    X(ASSAY_ENOMEM, -6, "out of memory")                                                                               \
    X(ASSAY_EPARAM, -7, "bad rule parameter")                                                                          \
    X(ASSAY_EMPI, -8, "MPI failed")                                                                                    \
    X(ASSAY_EINTERNAL, -9, "internal error")                                                                           \
    X(ASSAY_EUNSUPPORTED, -10, "not supported by this build")                                                          \
    X(ASSAY_ESTOPPED, -11, "stopped at a checkpoint")                                                                  \
    X(ASSAY_EBUDGET, -12, "needs more memory than the budget allows")

typedef enum assay_status {
#define ASSAY_STATUS_ENUM(name, number, text) name = number,
    ASSAY_STATUS_LIST(ASSAY_STATUS_ENUM)
#undef ASSAY_STATUS_ENUM
} assay_status;

enum { ASSAY_ERROR_TEXT = 512 };

typedef struct assay_error {
    char text[ASSAY_ERROR_TEXT]; /* one sentence, cut to fit, always terminated; "" when nothing failed */
} assay_error;

/* The fixed short text of a status. Returns a constant string, never NULL. */
const char *assay_status_text(int status);

/* Fills *err (unless NULL) from a printf format and returns `status`, so that a failure is one expression:
 * `return assay_fail(err, ASSAY_EFORMAT, "%s: ...", path);` */
int assay_fail(assay_error *err, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One step of several: `status = call`, unless a step before it failed; then the call is not made, and `status` stays. */
#define ASSAY_THEN(status, ...) ((status) = (status) ? (status) : (__VA_ARGS__))
/* Leaves the function with the status of the call, unless that is ASSAY_OK: for where nothing is to be released. */
#define ASSAY_TRY(...)                                                                                                 \
    do {                                                                                                               \
        const int status_ = (__VA_ARGS__);                                                                             \
        if (status_ != ASSAY_OK)                                                                                       \
            return status_;                                                                                            \
    } while (0)
/* Leaves the function with ASSAY_ENOMEM where a pointer is NULL that memory was asked for. */
#define ASSAY_HAVE(...)                                                                                                \
    do {                                                                                                               \
        if (!(__VA_ARGS__))                                                                                            \
            return ASSAY_ENOMEM;                                                                                       \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
