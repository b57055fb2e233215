# PRIVATE: this folder is about the rows of a table.  Run this in it: Rscript sdc.R
# Written by privsieve @VERSION@ for sdcMicro @SDCMICRO@; up to `library(sdcMicro)` it is base R.

invisible(Sys.umask("077"))
if (!l10n_info()[["UTF-8"]]) invisible(Sys.setlocale("LC_CTYPE", "C.UTF-8"))

k <- @K@
rows <- @ROWS@

# The columns: their names here, and in the table.
columns <- @COLUMNS@

# The key variables: an attacker may know them.  Numbers and dates are cut into intervals.
keys <- @KEYS@
# The sensitive columns: an attacker must not learn them.
sensitive <- @SENSITIVE@
# The column to predict.  If it is published and may be known, it is among the keys.
target <- @TARGET@
# The numbers of the columns that were cut, as they are in the table.
numbers <- @NUMBERS@
# The values of these numbers that mean missing.
none <- @NONE@

# The table: each cell is a text, and an empty cell is missing.
raw <- read.csv(@FILE@, header = @HEADER@, sep = @SEP@, quote = "\"",
                colClasses = "character", na.strings = "", comment.char = "", fill = TRUE,
                check.names = FALSE, blank.lines.skip = FALSE, @READ@)
names(raw) <- if (@HEADER@) trimws(names(raw), whitespace = "[ \t]") else
  paste0("c", seq_along(raw))
if (nrow(raw) != rows || !all(columns %in% names(raw))) {
  stop("this is not the table that was exported: export it again")
}
raw[] <- lapply(raw, trimws, whitespace = "[ \t]")

# Look up the level of each cell.  A missing cell has a level of its own.
level_of <- function(variable) {
  file <- file.path("levels", paste0(variable, ".csv"))
  line <- read.csv(file, colClasses = "character", na.strings = character(0), encoding = "UTF-8",
                   comment.char = "", quote = "\"")
  cell <- raw[[columns[[variable]]]]
  cell[is.na(cell)] <- ""
  found <- line$level[match(enc2utf8(cell), enc2utf8(line$value))]
  if (anyNA(found)) stop(file, " lacks a cell of the table: export it again")
  factor(found, levels = unique(line$level))
}
dat <- as.data.frame(sapply(names(columns), level_of, simplify = FALSE))
for (n in names(numbers)) {
  cell <- sub(@DEC@, ".", raw[[columns[[numbers[[n]]]]]], fixed = TRUE)
  dat[[n]] <- suppressWarnings(as.numeric(cell))
  dat[[n]][dat[[n]] %in% none[[n]]] <- NA
}
# The rows of each group that agrees in all key variables.
groups_of <- function() {
  table(do.call(paste, c(unname(lapply(dat[keys], as.integer)), sep = ":")))
}
groups <- groups_of()
if (min(groups) != @LEVEL@ || sum(groups[groups < k]) != @BELOW@) {
  stop("R reads the file differently from privsieve: export it without --by-path")
}
# To cut a number in another way, do it here, before the count (intervals are open on the left):
# dat$v1_age <- sdcMicro::globalRecode(dat$n1_age, breaks = c(0, 18, 65, 120))

# k, counted in base R.
groups <- groups_of()
cat("smallest group, base R: ", min(groups), " of ", nrow(dat), " rows; ",
    sum(groups[groups < k]), " rows in groups below k\n", sep = "")

if (!requireNamespace("sdcMicro", quietly = TRUE)) {
  stop("the next steps need sdcMicro: install.packages(\"sdcMicro\")")
}
suppressPackageStartupMessages(library(sdcMicro))

sdc <- createSdcObj(dat, keyVars = keys,
                    numVars = if (length(numbers)) names(numbers),
                    sensibleVar = if (length(sensitive)) sensitive)
print(sdc)
print(sdc, type = "risk")
if (length(sensitive)) {
  sdc <- ldiversity(sdc, ldiv_index = sensitive)
  print(get.sdcMicroObj(sdc, type = "risk")$ldiversity)
}

# Steps that sdcMicro has, and privsieve does not.  Remove a #, and set the amount.
#
# Merge levels, one step at a time:
# sdc <- groupAndRename(sdc, var = keys[1], before = c("A", "B"), after = "A or B")
#
# Local suppression: remove single cells until every group has k rows.  sdcMicro counts a removed
# cell as any value; privsieve counts it as a value of its own.
# sdc <- localSuppression(sdc, k = k)
#
# Microaggregation: replace numbers by the mean of k or more rows.
# sdc <- microaggregation(sdc, variables = names(numbers), aggr = k)
#
# PRAM: change categories at random, with known probabilities (k then ignores such a key variable).
# sdc <- pram(sdc, variables = c(sensitive, target)[1])

smallest <- min(get.sdcMicroObj(sdc, type = "risk")$individual[, "fk"])
cat("smallest group, sdcMicro: ", smallest, "\n", sep = "")
if (smallest < k) {
  stop("a group has fewer than k = ", k, " rows, so nothing was written: remove a # above")
}
if (any(file.exists(c("result.csv", "domain.toml")))) {
  stop("result.csv or domain.toml exists and is not overwritten: move it away")
}

# The result: key variables, sensitive columns and the target, with shuffled rows.  Add the name of
# a number if you microaggregated it.
result <- extractManipData(sdc, randomizeRecords = "simple")[c(keys, sensitive, target)]
result[] <- lapply(result, as.character)
names(result) <- columns[names(result)]
file <- file("result.csv", "w", encoding = "UTF-8")
write.csv(result, file, row.names = FALSE, na = "")
close(file)

# The domain file for privsieve: the levels of each column.  A removed cell is missing.
#   privsieve check result.csv --domain domain.toml
toml <- function(x) {
  x <- gsub("\"", "\\\"", gsub("\\", "\\\\", enc2utf8(x), fixed = TRUE), fixed = TRUE)
  paste0("\"", x, "\"")
}
lines <- c("[table]", "unit = \"row\"")
for (name in names(result)) {
  levels <- sort(unique(result[[name]]))
  levels <- levels[levels != ""]
  if (!length(levels)) next
  is_target <- name %in% columns[target]
  lines <- c(lines, "", if (is_target) "[target]" else "[[column]]", paste("name =", toml(name)),
             paste("kind =", if (is_target) "\"label\"" else "\"category\""),
             paste0("values = [", paste(toml(levels), collapse = ", "), "]"))
}
file <- file("domain.toml", "w", encoding = "UTF-8")
writeLines(lines, file)
close(file)
cat("written: result.csv, domain.toml\n")
