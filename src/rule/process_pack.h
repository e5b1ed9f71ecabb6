/* process_pack.h - what goes between the program and the process of a rule, as bytes: the rules of a module,
 * parameters, needs, verdicts. Both ends are of one program, so numbers and structures keep their form; what comes from
 * the process of a rule is validated as untrusted input. */
#pragma once

#include <assay/rule.h>

#include "rule/need.h"
#include "rule/verdict.h"

enum { ASSAY_MODULE_RULES = 256 }; /* a module has no more */

/* Which of its functions a rule has. */
enum {
    ASSAY_HAS_SETUP = 1,
    ASSAY_HAS_STATE_NEW = 2,
    ASSAY_HAS_STATE_FREE = 4,
    ASSAY_HAS_MAP = 8,
    ASSAY_HAS_COMBINE = 16,
    ASSAY_HAS_PACK = 32,
    ASSAY_HAS_UNPACK = 64,
    ASSAY_HAS_FINALIZE = 128,
    ASSAY_HAS_REASON = 256
};

/* The rules of a module's table, which ends with NULL. Of a rule that was built for another version only that is said.
 */
void assay_rule_table_pack(const assay_rule_ops *const *table, assay_buf *out);
/* One of them: names, texts and parameters in memory of its own; no functions, but `has` says which there are.
 * ASSAY_EFORMAT or ASSAY_ENOMEM. Free what it allocated in any case. */
int assay_rule_table_next(assay_cursor *in, assay_rule_ops *out, unsigned *has);
void assay_rule_table_free(assay_rule_ops *ops);

/* Parameters with all that rules may ask of them, and such of the same definitions. ASSAY_EFORMAT or ASSAY_ENOMEM; free
 * with assay_params_free(). */
void assay_params_pack(const assay_params *params, assay_buf *out);
int assay_params_unpack(assay_cursor *in, const assay_rule_ops *ops, assay_params **out);

/* Fills an empty need with what was packed of another. ASSAY_EFORMAT (a pattern that is none, too), ASSAY_ENOMEM. */
void assay_need_pack(const assay_need *need, assay_buf *out);
int assay_need_unpack(assay_cursor *in, assay_need *need, assay_error *err);

/* Adds what a packed verdict says to another one. ASSAY_EFORMAT with what cannot be: a test that the rule does not
 * have, text for report.json that is no JSON. ASSAY_ENOMEM. */
void assay_verdict_pack(const assay_verdict *verdict, assay_buf *out);
int assay_verdict_unpack(assay_cursor *in, const assay_rule *rule, assay_verdict *verdict, assay_error *err);
