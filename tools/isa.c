/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa.h"

#include <stdio.h>
#include <string.h>

#include "output.h"
#include "tool.h"

#define DEFAULT_SIZE  1024
#define DEFAULT_ENTRY "gemm"
/* Most compilations at the same time. */
#define MAX_THREADS 2

static struct {
  gchar *kernel;
  gchar *target;
  gint m, n, k;
  gchar *layout, *a_type;
  gchar *ocloc;
  gchar *source, *entry, *build_options;
  gchar *json;
  gchar *listings;
} options = {.m = DEFAULT_SIZE, .n = DEFAULT_SIZE, .k = DEFAULT_SIZE};

static const GOptionEntry what_entries[] = {
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernel,
     "A kernel, several with commas between, or all (default: all)", "NAME,..."},
    {"size1", 'M', 0, G_OPTION_ARG_INT, &options.m,
     "Rows of A and D (default: " G_STRINGIFY (DEFAULT_SIZE) ", less where a kernel takes less)",
     "INTEGER"},
    {"size2", 'K', 0, G_OPTION_ARG_INT, &options.k, "Columns of A, rows of B (default: as for -M)",
     "INTEGER"},
    {"size3", 'N', 0, G_OPTION_ARG_INT, &options.n, "Columns of B and D (default: as for -M)",
     "INTEGER"},
    {"layout", 0, 0, G_OPTION_ARG_STRING, &options.layout,
     "Order in memory, by rows or by columns: row or col (default: row)", "row|col"},
    {"a-type", 0, 0, G_OPTION_ARG_STRING, &options.a_type,
     "Type of the elements of A: f32, bf16, u8 ... (default: f32)", "TYPE"},
    {"source", 0, 0, G_OPTION_ARG_FILENAME, &options.source,
     "Compile a kernel of this OpenCL C program instead", "FILE"},
    {"entry", 0, 0, G_OPTION_ARG_STRING, &options.entry,
     "Name of that kernel (default: " DEFAULT_ENTRY ")", "NAME"},
    {"build-options", 0, 0, G_OPTION_ARG_STRING, &options.build_options,
     "Compiler options of that program", "OPTIONS"},
    {NULL}};

static const GOptionEntry how_entries[] = {
    {"target", 0, 0, G_OPTION_ARG_STRING, &options.target,
     "bdw, skl, icllp, tgllp, dg1, dg2, mtl, arl-h, pvc, lnl, bmg or ptl, several with "
     "commas between, or all: those of the compilers here (default: all)",
     "NAME,..."},
    {"ocloc", 0, 0, G_OPTION_ARG_STRING, &options.ocloc,
     "Intel's offline compiler; of several, with colons between, the newest that knows "
     "the target (default: GEMMCL_OCLOC of the environment, else ocloc in PATH)",
     "FILE:..."},
    {"json", 0, 0, G_OPTION_ARG_FILENAME, &options.json,
     "Also write the figures of all loops as JSON; - is the standard output, and the "
     "table then goes to the standard error",
     "FILE"},
    {"listings", 0, 0, G_OPTION_ARG_FILENAME, &options.listings,
     "Compile anew and write the disassembly into this folder, as NAME.TARGET.asm", "FOLDER"},
    {NULL}};

/* The compilation of a program for a target, and its result. */
typedef struct {
  const IsaProgram *program;
  const IsaTarget *target;
  IsaFigures *figures;
  GError *error;
  gboolean done;
} Job;

typedef struct {
  const IsaCompilers *compilers;
  GMutex lock;
  GCond changed;
  gboolean stop;
} Work;

enum {
  COLUMN_KERNEL,
  COLUMN_TARGET,
  COLUMN_SIMD,
  COLUMN_REGISTERS,
  COLUMN_SPILL,
  COLUMN_PRIVATE,
  COLUMN_INSTRUCTIONS,
  COLUMN_MADS,
  COLUMN_DPAS,
  COLUMN_LOADS,
  COLUMN_BYTES,
  COLUMN_SLM,
  COLUMN_BARRIERS,
  COLUMN_DENSITY,
  COLUMN_NOTE,
  N_COLUMNS
};

static void
job_free (gpointer data)
{
  Job *job = data;

  g_clear_pointer (&job->figures, isa_figures_free);
  g_clear_error (&job->error);
  g_free (job);
}

/* Parses --a-type. @type: (out): the type; f32 without the option. */
static gboolean
get_a_type (GemmclType *type)
{
  *type = GEMMCL_TYPE_F32;
  while (options.a_type != NULL && *type < GEMMCL_N_TYPES &&
         !g_str_equal (options.a_type, gemmcl_type_get_name (*type)))
    ++*type;
  return *type < GEMMCL_N_TYPES;
}

/* @max: 0: no limit */
static gsize
limit (gsize size, gsize max)
{
  return max > 0 ? MIN (size, max) : size;
}

static IsaProgram *
make_program (const GemmclKernelInfo *kernel, const gchar *name, GError **error)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (IsaProgram) program = g_new0 (IsaProgram, 1);
  g_autoptr (GError) why = NULL;

  gemm.m = options.m;
  gemm.n = options.n;
  gemm.k = options.k;
  get_a_type (&gemm.a_type);
  if (g_strcmp0 (options.layout, "col") == 0)
    gemm.layout = GEMMCL_LAYOUT_COLUMN_MAJOR;
  if (kernel != NULL) {
    gemm.precision = kernel->precision;
    gemm.m = limit (gemm.m, kernel->max_m);
    gemm.n = limit (gemm.n, kernel->max_n);
    gemm.k = limit (gemm.k, kernel->max_k);
  }
  program->name = g_strdup (name);
  program->entry = g_strdup (DEFAULT_ENTRY);
  program->source = g_strdup (gemmcl_kernel_get_source (name, &gemm, &program->options, &why));
  if (program->source == NULL) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_USAGE, why->message);
    return NULL;
  }
  return g_steal_pointer (&program);
}

static const GemmclKernelInfo *
find_kernel (const gchar *name)
{
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++)
    if (g_str_equal (gemmcl_get_kernel (i)->name, name))
      return gemmcl_get_kernel (i);
  return NULL;
}

static gboolean
read_program (GPtrArray *programs, GError **error)
{
  g_autoptr (IsaProgram) program = g_new0 (IsaProgram, 1);

  if (!g_file_get_contents (options.source, &program->source, NULL, error))
    return FALSE;
  program->entry = g_strdup (options.entry != NULL ? options.entry : DEFAULT_ENTRY);
  program->name = g_strdup (program->entry);
  program->options = g_strdup (options.build_options != NULL ? options.build_options : "");
  g_ptr_array_add (programs, g_steal_pointer (&program));
  return TRUE;
}

static gboolean
make_programs (GPtrArray *programs, GError **error)
{
  g_auto (GStrv) names = NULL;
  const gboolean all = options.kernel == NULL || g_str_equal (options.kernel, "all");

  if (options.source != NULL)
    return read_program (programs, error);
  names =
      all ? g_new0 (gchar *, gemmcl_get_n_kernels () + 1) : g_strsplit (options.kernel, ",", -1);
  for (guint i = 0; all && i < gemmcl_get_n_kernels (); i++)
    names[i] = g_strdup (gemmcl_get_kernel (i)->name);
  for (guint i = 0; names[i] != NULL; i++) {
    IsaProgram *program = make_program (find_kernel (names[i]), names[i], error);
    if (program == NULL)
      return FALSE;
    g_ptr_array_add (programs, program);
  }
  return TRUE;
}

static gboolean
check_options (GError **error)
{
  GemmclType a_type;

  if (options.m < 1 || options.n < 1 || options.k < 1) {
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE, "M, N and K are 1 or more, not %d, %d, %d.",
                 options.m, options.n, options.k);
    return FALSE;
  }
  if (options.layout != NULL && !g_str_equal (options.layout, "row") &&
      !g_str_equal (options.layout, "col")) {
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE, "--layout takes row or col, not \"%s\".",
                 options.layout);
    return FALSE;
  }
  if (!get_a_type (&a_type)) {
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                 "--a-type takes the name of a type, such as f32, bf16 or u8, not \"%s\".",
                 options.a_type);
    return FALSE;
  }
  if (options.source != NULL && options.kernel != NULL) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                         "-k, --kernel names kernels of gemmcl; with --source, --entry names the "
                         "kernel.");
    return FALSE;
  }
  return TRUE;
}

/* Adds the targets of --target; none for all. */
static gboolean
name_targets (GPtrArray *targets, GError **error)
{
  const gboolean all = options.target == NULL || g_str_equal (options.target, "all");
  g_auto (GStrv) names = g_strsplit (all ? "" : options.target, ",", -1);

  for (guint i = 0; names[i] != NULL; i++) {
    const IsaTarget *target = isa_target_find (names[i]);
    if (target == NULL) {
      g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                   "--target takes bdw, skl, icllp, tgllp, dg1, dg2, mtl, arl-h, pvc, lnl, bmg, "
                   "ptl or all, not \"%s\".",
                   names[i]);
      return FALSE;
    }
    g_ptr_array_add (targets, (gpointer)target);
  }
  return TRUE;
}

static void
add_known_targets (const IsaCompilers *compilers, GPtrArray *targets)
{
  for (const IsaTarget *target = isa_targets; target->name != NULL; target++)
    if (isa_compilers_know (compilers, target))
      g_ptr_array_add (targets, (gpointer)target);
}

static void
run_job (gpointer data, gpointer user_data)
{
  Job *job = data;
  Work *work = user_data;
  g_autofree gchar *listing = NULL;
  gboolean stop;

  g_mutex_lock (&work->lock);
  stop = work->stop;
  g_mutex_unlock (&work->lock);
  if (!stop) {
    if (options.listings != NULL)
      listing =
          g_strdup_printf ("%s/%s.%s.asm", options.listings, job->program->name, job->target->name);
    job->figures = isa_compile (work->compilers, job->program, job->target, listing, &job->error);
  }
  g_mutex_lock (&work->lock);
  job->done = TRUE;
  g_cond_broadcast (&work->changed);
  g_mutex_unlock (&work->lock);
}

static const gchar *
get_note (const IsaFigures *figures)
{
  if (figures->why_not != NULL)
    return figures->why_not;
  if (figures->resource_loops > 0)
    return "resource loops";
  if (figures->hot >= 0 && figures->loops[figures->hot].parent >= 0)
    return "in an outer loop";
  return "";
}

static void
print_figures (FILE *out, const ToolColumn *columns, const IsaFigures *figures)
{
  static const IsaLoop none;
  const IsaLoop *loop = figures->hot >= 0 ? &figures->loops[figures->hot] : &none;
  const guint numbers[N_COLUMNS] = {
      [COLUMN_SIMD] = figures->simd,
      [COLUMN_REGISTERS] = figures->registers,
      [COLUMN_SPILL] = figures->spill,
      [COLUMN_PRIVATE] = figures->private_memory,
      [COLUMN_INSTRUCTIONS] = loop->instructions,
      [COLUMN_DPAS] = loop->dpas,
      [COLUMN_LOADS] = loop->loads,
      [COLUMN_BYTES] = (guint)loop->load_bytes,
      [COLUMN_SLM] = loop->slm_loads,
      [COLUMN_BARRIERS] = loop->barriers,
  };
  gchar texts[N_COLUMNS][16];
  const gchar *cells[N_COLUMNS];

  for (guint c = 0; c < N_COLUMNS; c++) {
    g_snprintf (texts[c], sizeof (texts[c]), "%u", numbers[c]);
    cells[c] = figures->why_not != NULL ? "" : texts[c];
  }
  g_snprintf (texts[COLUMN_MADS], sizeof (texts[0]), "%g", loop->mads);
  g_snprintf (texts[COLUMN_DENSITY], sizeof (texts[0]), "%.3f", isa_figures_get_density (figures));
  cells[COLUMN_KERNEL] = figures->kernel;
  cells[COLUMN_TARGET] = figures->target->name;
  cells[COLUMN_NOTE] = get_note (figures);
  tool_table_row (out, columns, cells, N_COLUMNS);
}

static GPtrArray *
make_jobs (const GPtrArray *programs, const GPtrArray *targets)
{
  GPtrArray *jobs = g_ptr_array_new_with_free_func (job_free);

  for (guint p = 0; p < programs->len; p++)
    for (guint t = 0; t < targets->len; t++) {
      Job *job = g_new0 (Job, 1);
      job->program = programs->pdata[p];
      job->target = targets->pdata[t];
      g_ptr_array_add (jobs, job);
    }
  return jobs;
}

static void
prepare_columns (FILE *out, const GPtrArray *programs, ToolColumn columns[N_COLUMNS])
{
  static const ToolColumn titles[N_COLUMNS] = {
      [COLUMN_KERNEL] = {"kernel"},
      [COLUMN_TARGET] = {"target", 5},
      [COLUMN_SIMD] = {"SIMD", 0, TRUE},
      [COLUMN_REGISTERS] = {"regs", 0, TRUE},
      [COLUMN_SPILL] = {"spill", 0, TRUE},
      [COLUMN_PRIVATE] = {"private", 0, TRUE},
      [COLUMN_INSTRUCTIONS] = {"loop", 5, TRUE},
      [COLUMN_MADS] = {"mads", 0, TRUE},
      [COLUMN_DPAS] = {"dpas", 0, TRUE},
      [COLUMN_LOADS] = {"loads", 0, TRUE},
      [COLUMN_BYTES] = {"bytes", 0, TRUE},
      [COLUMN_SLM] = {"slm", 0, TRUE},
      [COLUMN_BARRIERS] = {"barr", 0, TRUE},
      [COLUMN_DENSITY] = {"density", 0, TRUE},
      [COLUMN_NOTE] = {"note"},
  };

  memcpy (columns, titles, sizeof (titles));
  for (guint i = 0; i < programs->len; i++)
    tool_table_fit (&columns[COLUMN_KERNEL], ((const IsaProgram *)programs->pdata[i])->name);
  tool_table_titles (out, columns, N_COLUMNS);
}

/* Prints the figures of the jobs in their order. Stops at the first job that fails. */
static gboolean
await_jobs (Work *work, const GPtrArray *jobs, FILE *out, const ToolColumn *columns, json_t *json,
            GError **error)
{
  gboolean well = TRUE;

  for (guint i = 0; i < jobs->len && well; i++) {
    Job *job = jobs->pdata[i];

    g_mutex_lock (&work->lock);
    while (!job->done)
      g_cond_wait (&work->changed, &work->lock);
    well = job->figures != NULL;
    work->stop = !well;
    g_mutex_unlock (&work->lock);
    if (well) {
      print_figures (out, columns, job->figures);
      json_array_append_new (json, isa_figures_to_json (job->figures));
    } else {
      g_propagate_error (error, g_steal_pointer (&job->error));
    }
  }
  return well;
}

static gboolean
run_jobs (const IsaCompilers *compilers, const GPtrArray *programs, const GPtrArray *targets,
          json_t *json, GError **error)
{
  FILE *out = g_strcmp0 (options.json, "-") == 0 ? stderr : stdout;
  g_autoptr (GPtrArray) jobs = make_jobs (programs, targets);
  Work work = {.compilers = compilers};
  ToolColumn columns[N_COLUMNS];
  GThreadPool *pool;
  gboolean well;

  prepare_columns (out, programs, columns);
  g_mutex_init (&work.lock);
  g_cond_init (&work.changed);
  pool = g_thread_pool_new (run_job, &work, (gint)MIN (g_get_num_processors (), MAX_THREADS), FALSE,
                            NULL);
  for (guint i = 0; i < jobs->len; i++)
    g_thread_pool_push (pool, jobs->pdata[i], NULL);
  well = await_jobs (&work, jobs, out, columns, json, error);
  g_thread_pool_free (pool, FALSE, TRUE);
  g_mutex_clear (&work.lock);
  g_cond_clear (&work.changed);
  return well;
}

static gboolean
run (G_GNUC_UNUSED gchar **operands, GError **error)
{
  g_autoptr (IsaCompilers) compilers = NULL;
  g_autoptr (GPtrArray) programs =
      g_ptr_array_new_with_free_func ((GDestroyNotify)isa_program_free);
  g_autoptr (GPtrArray) targets = g_ptr_array_new ();
  g_autoptr (json_t) json = json_array ();

  if (!check_options (error) || !name_targets (targets, error) || !make_programs (programs, error))
    return FALSE;
  compilers = isa_compilers_new (options.ocloc, error);
  if (compilers == NULL)
    return FALSE;
  if (targets->len == 0)
    add_known_targets (compilers, targets);
  isa_forget_old ();
  return run_jobs (compilers, programs, targets, json, error) &&
         (options.json == NULL || tool_json_write (json, options.json, error));
}

const ToolCommand tool_isa = {
    .name = "isa",
    .summary = "Compile kernels for Intel GPUs, without a GPU, and show figures of the code",
    .description =
        "Has Intel's offline compiler, ocloc, compile kernels for Intel GPUs that need not be "
        "present, and reads its listings: lanes of a thread (SIMD), registers, bytes per "
        "thread that did not fit into registers (spill) or are arrays in memory (private), "
        "and for one turn of the inner loop the instructions, multiply-adds per work-item, "
        "instructions of matrix engines (dpas), loads and their bytes, loads from local "
        "memory, and barriers. The density is the share of multiply-adds among the "
        "instructions: the share of the peak that a loop reaches if it never waits.\n\n"
        "The inner loop is the one with the most multiply-adds; where it branches, the path "
        "with the most of them counts. An instruction of half the thread's lanes is half a "
        "multiply-add. Resource loops are loops that the compiler puts round a load when it "
        "cannot tell that all lanes load from the same buffer.\n\n"
        "Results are kept in the folder gemmcl/isa of the user's cache directory.",
    .groups = {{"Kernels", what_entries}, {"Options", how_entries}},
    .examples = {{"gemmcl isa --target skl,dg2", "All kernels for two targets"},
                 {"gemmcl isa -k L3_SIMD_8x4_1x16 --target bmg --listings .",
                  "One kernel, and its listing"}},
    .run = run,
};
