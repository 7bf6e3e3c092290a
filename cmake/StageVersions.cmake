function(edgekiln_finish_stage_versions)
endfunction()
