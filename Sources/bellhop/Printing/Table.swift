import BellhopCore

/// Rows in columns, for people. A table that is wider than the screen omits its least important columns, and breaks no word.
struct Table {
    struct Column {
        var heading: String
        /// 0 if always shown; columns with the greatest rank are omitted first.
        var rank: Int
        /// A text, which may be truncated after a word.
        var isText: Bool

        init(_ heading: String, rank: Int = 0, isText: Bool = false) {
            (self.heading, self.rank, self.isText) = (heading, rank, isText)
        }
    }

    private struct Row {
        var cells: [String]
        /// The colours of cells, by column.
        var paints: [Int: Paint]
    }

    /// The narrowest useful text column.
    private static let minText = 16
    /// The widest text column on a screen; a command with the row's id shows longer texts.
    private static let maxText = 60

    private let columns: [Column]
    private var rows: [Row] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: [String], paints: [Int: Paint] = [:]) {
        rows.append(Row(cells: cells.map(\.singleLine), paints: paints))
    }

    /// Which columns are shown, and how wide.
    struct Layout {
        fileprivate var shown: [Int]
        fileprivate var widths: [Int]
        /// The columns omitted because they were empty.
        fileprivate var empty: [Int]
    }

    var count: Int { rows.count }

    mutating func removeRows() { rows.removeAll(keepingCapacity: true) }

    /// - Parameter width: the screen's; nil for no limit.
    func lines(width: Int?) -> [String] {
        let layout = layout(width: width)
        return [heading(layout)] + rows(layout)
    }

    /// - Parameter width: the screen's; nil for no limit.
    func layout(width: Int?) -> Layout {
        // Omit empty columns.
        let empty = columns.indices.filter { column in
            columns[column].rank > 0 && !rows.isEmpty && rows.allSatisfy { $0.cells[column] == "-" }
        }
        var shown = columns.indices.filter { !empty.contains($0) }
        var widths = naturalWidths
        if let width {
            for column in shown where columns[column].isText { widths[column] = min(widths[column], Self.maxText) }
            while let excess = excess(shown, widths, over: width) {
                if let text = shown.last(where: { columns[$0].isText }), widths[text] - excess >= Self.minText {
                    widths[text] -= excess
                } else if let least = shown.max(by: { columns[$0].rank < columns[$1].rank }), columns[least].rank > 0 {
                    shown.removeAll { $0 == least }
                } else {
                    break
                }
            }
        }
        return Layout(shown: shown, widths: widths, empty: empty)
    }

    func heading(_ layout: Layout) -> String { Paint.dim(line(Row(cells: columns.map(\.heading), paints: [:]), layout)) }

    func rows(_ layout: Layout) -> [String] { rows.map { line($0, layout) } }

    /// Whether a column that the layout omitted as empty has values now.
    func hasMore(than layout: Layout) -> Bool {
        layout.empty.contains { column in rows.contains { $0.cells[column] != "-" } }
    }

    private func line(_ row: Row, _ layout: Layout) -> String {
        layout.shown.map { cell(row, $0, layout.widths, isLast: $0 == layout.shown.last) }.joined(separator: "  ")
    }

    private var naturalWidths: [Int] {
        columns.indices.map { column in ([columns[column].heading] + rows.map { $0.cells[column] }).map(\.shownWidth).max() ?? 0 }
    }

    /// By how much the table is too wide; nil if it fits.
    private func excess(_ shown: [Int], _ widths: [Int], over width: Int) -> Int? {
        let total = shown.reduce(0) { $0 + widths[$1] } + 2 * max(shown.count - 1, 0)
        return total > width ? total - width : nil
    }

    private func cell(_ row: Row, _ column: Int, _ widths: [Int], isLast: Bool) -> String {
        // An id or a name that is wider than its column stays whole.
        let text = columns[column].isText ? row.cells[column].cutBetweenWords(to: widths[column]) : row.cells[column]
        let padded = isLast ? text : text.padded(to: widths[column])
        return row.paints[column].map { $0(padded) } ?? padded
    }

    func print() { for line in lines(width: Screen.dataWidth) { Console.data(line) } }
}

/// A table whose rows arrive one by one. It holds one page of rows; the first page determines the columns.
struct PagedTable {
    static let page = 500

    private var table: Table
    private let width: Int?
    private let print: (String) -> Void
    private var layout: Table.Layout?

    /// - Parameters:
    ///   - width: the screen's; nil for no limit.
    ///   - print: prints the lines.
    init(_ columns: [Table.Column], width: Int?, print: @escaping (String) -> Void) {
        table = Table(columns)
        self.width = width
        self.print = print
    }

    mutating func add(_ cells: [String], paints: [Int: Paint] = [:]) {
        table.add(cells, paints: paints)
        if table.count >= Self.page { printPage() }
    }

    /// Prints the rest; only the headings if there were no rows.
    mutating func end() {
        if layout == nil || table.count > 0 { printPage() }
    }

    /// A page gets new headings if it fills a column that was omitted because it was empty.
    private mutating func printPage() {
        if layout.map(table.hasMore(than:)) ?? true {
            let layout = table.layout(width: width)
            print(table.heading(layout))
            self.layout = layout
        }
        if let layout { for line in table.rows(layout) { print(line) } }
        table.removeRows()
    }
}
