# The five verbs.  Each returns a list of class "privsieve" that holds data frames.

domain <- function(data, target = NULL, classes = NULL, unit = "row", person = NULL,
                   out = "domain.toml", ..., code_book = NULL) {
  if (is.data.frame(data) && is.null(code_book)) code_book <- write_code_book(data)
  answer <- with_file(data, function(path) {
    run("domain", path, list(target = target, classes = classes, unit = unit, person = person,
                             code_book = code_book, out = out, ...))
  })
  result("domain", columns = as_frame(answer$columns), file = out, text = answer$draft)
}

plan <- function(data = NULL, domain = "domain.toml", top = NULL, epsilon = NULL, ...) {
  answer <- with_optional_file(data, function(path) {
    run("plan", path, list(domain = domain, top = top, epsilon = epsilon, ...))
  })
  if (is.null(epsilon)) {
    rungs <- answer$epsilons
    costs <- data.frame(
      epsilon = as.numeric(rungs$epsilon), odds = rungs$odds_at_most,
      found_percent = found_percent(rungs), refused = or_na(rungs$refused),
      warning = or_na(rungs$warning))
    return(result("plan", costs = costs, json = answer))
  }
  result("plan", forecast = as_frame(forecast_of(answer)), json = answer)
}

select <- function(data, domain = "domain.toml", epsilon, top, ledger, population, out, ...) {
  answer <- with_file(data, function(path) {
    run("select", path, list(domain = domain, epsilon = epsilon, top = top, ledger = ledger,
                             population = population, out = out, ...))
  })
  chosen <- unlist(answer$release$selected)
  columns <- unlist(answer$release$columns)
  result("select", selected = chosen, folder = out, claim = answer$claim,
         columns = data.frame(column = columns, selected = columns %in% chosen),
         charged = as.numeric(answer$charged), left = as.numeric(answer$left), json = answer)
}

publish <- function(data, k, out, ...) {
  answer <- with_file(data, function(path) run("publish", path, list(k = k, out = out, ...)))
  items <- as.data.frame(answer$measured$items)
  if (ncol(items) == 3) {
    names(items) <- c("item", "rows", "smallest_group")
    items[-1] <- lapply(items[-1], as.integer)
  }
  table <- read.csv(file.path(out, "table.csv"), check.names = FALSE)
  result("publish", selected = unlist(answer$selected), level = answer$claim$level,
         promise = answer$promise, items = items, table = table, folder = out, json = answer)
}

verify <- function(folder, ...) {
  answer <- run("verify", folder, list(...))
  result("verify", valid = answer$valid, says = answer$says,
         reasons = data.frame(reason = as.character(unlist(answer$reasons))),
         notes = data.frame(note = as.character(unlist(answer$notes))), json = answer)
}

print.privsieve <- function(x, ...) {
  cat("<privsieve ", x$verb, ">\n", sep = "")
  for (name in setdiff(names(x), c("verb", "json", "text", "table"))) {
    value <- x[[name]]
    if (is.data.frame(value)) {
      cat(name, ":\n", sep = "")
      print(utils::head(value, 12), row.names = FALSE)
      if (nrow(value) > 12) cat("... and", nrow(value) - 12, "more rows\n")
    } else if (length(value)) {
      cat(name, ": ", paste(value, collapse = ", "), "\n", sep = "")
    }
  }
  invisible(x)
}

result <- function(verb, ...) structure(list(verb = verb, ...), class = "privsieve")

as_frame <- function(value) {
  if (is.null(value)) data.frame() else as.data.frame(value, stringsAsFactors = FALSE)
}

or_na <- function(values) if (is.null(values)) NA_character_ else as.character(values)

found_percent <- function(rungs) {
  forecast <- rungs$forecast
  gap <- forecast$usual_gap[1]
  percents <- forecast$found_percent
  if (is.null(gap) || is.null(percents)) NA_integer_ else as.integer(percents[[gap]])
}

forecast_of <- function(answer) {
  percents <- unlist(answer$forecast$found_percent)
  if (is.null(percents)) NULL else list(gap = as.numeric(names(percents)), found_percent = percents)
}

with_optional_file <- function(data, action) {
  if (is.null(data)) action(character()) else with_file(data, action)
}

# Write what labelled columns (haven) and factors declare as a code book: a CSV file of names,
# kinds and values.  The labels are facts of the questionnaire; values of rows are not read.
write_code_book <- function(data) {
  rows <- list()
  for (name in names(data)) {
    column <- data[[name]]
    labels <- attr(column, "labels", exact = TRUE)
    if (inherits(column, "haven_labelled") && !is.null(labels)) {
      rows[[name]] <- c(name, "category", paste(labels, collapse = " | "))
    }
  }
  if (!length(rows)) return(NULL)
  path <- tempfile("codebook", fileext = ".csv")
  book <- as.data.frame(do.call(rbind, rows))
  names(book) <- c("name", "kind", "values")
  write.table(book, path, sep = ",", row.names = FALSE, qmethod = "double",
              fileEncoding = "UTF-8")
  path
}
