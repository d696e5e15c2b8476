import BellhopCore
import Glibc

/// A progress bar on a terminal; elsewhere it prints nothing.
struct ProgressMeter {
    private let title: String
    private let isShown = isatty(STDERR_FILENO) == 1
    private let width = 24

    init(_ title: String) { self.title = title }

    /// - Parameter done: the progress, from 0 to 1.
    func show(_ done: Double) {
        guard isShown else { return }
        let full = Int(done * Double(width))
        let bar = String(repeating: "█", count: full) + String(repeating: "░", count: width - full)
        Console.control("\r\(title) \(bar) \(Int(done * 100)) %")
    }

    /// Removes it from the screen.
    func end() { if isShown { Console.control("\r\u{1B}[K") } }
}
