import BellhopCore

/// A table whose rows come one after another, however many they are: a page of them is held, and the first page decides the columns.
struct PagedTable {
    /// So many rows are held.
    static let page = 500

    private var table: Table
    private let width: Int?
    private let print: (String) -> Void
    private var layout: Table.Layout?

    /// - Parameters:
    ///   - width: the screen's; nil for no limit.
    ///   - print: takes the lines.
    init(_ columns: [Table.Column], width: Int?, print: @escaping (String) -> Void) {
        table = Table(columns)
        self.width = width
        self.print = print
    }

    mutating func add(_ cells: [String], paints: [Int: Paint] = [:]) {
        table.add(cells, paints: paints)
        if table.count >= Self.page { printPage() }
    }

    /// Prints what is left; the headings alone where there were no rows.
    mutating func end() {
        if layout == nil || table.count > 0 { printPage() }
    }

    /// A page with something in a column that was left out because nothing stood in it has headings of its own.
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
