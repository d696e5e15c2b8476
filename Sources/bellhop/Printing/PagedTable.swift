import BellhopCore

/// A table whose rows arrive one by one. It holds one page of rows; the first page determines the columns.
struct PagedTable {
    /// The rows of a page.
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
