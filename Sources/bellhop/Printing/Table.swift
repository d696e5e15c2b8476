import BellhopCore

/// Rows in columns, for people.
struct Table {
    private let headings: [String]
    private var rows: [[String]] = []
    /// No cell is wider, except in the last column.
    private let widest: Int

    init(_ headings: String..., widest: Int = 40) { self.init(headings, widest: widest) }

    init(_ headings: [String], widest: Int = 40) {
        self.headings = headings
        self.widest = widest
    }

    mutating func add(_ cells: String...) { add(cells) }

    mutating func add(_ cells: [String]) { rows.append(cells.map(\.singleLine)) }

    func print() {
        let all = [headings] + rows
        let widths = headings.indices.map { column in
            min(widest, all.map { $0[column].unicodeScalars.count }.max() ?? 0)
        }
        for (index, row) in all.enumerated() {
            let cells = row.enumerated().map { column, cell in
                column == row.count - 1 ? cell : cell.cut(to: widths[column]).padded(to: widths[column])
            }
            let line = cells.joined(separator: "  ")
            Console.data(index == 0 ? Paint.dim(line) : line)
        }
    }
}
